import type { NotificationKind } from '../schema/inbox'

/** What a link in mail ends: messages of a kind, or the digest. */
export type UnsubscribeKind = NotificationKind | 'digest'

/** What tokens in mail are made for. A token for one purpose is none for another. */
export const toPurpose = {
  /** @param id of the link */
  signIn: (id: string) => `sign-in ${id}`,
  /** @param id of the invitation */
  invitation: (id: string) => `invitation ${id}`,
  confirmation: (accountId: string, address: string) => `confirm ${accountId} ${address}`,
  unsubscribe: (accountId: string, address: string, kind: UnsubscribeKind) =>
    `unsubscribe ${accountId} ${address} ${kind}`,
}
