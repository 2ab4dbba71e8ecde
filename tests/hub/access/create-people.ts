import type { Member } from './requesters'

interface Parts {
  // biome-ignore lint/suspicious/noExplicitAny: answers of every shape
  admin(path: string, body: unknown, method?: string): Promise<any>
  /** Sends a request to a hub where agents register by claim. */
  sendClaim(request: Request): Promise<Response>
  newName(): string
}

/** Returns what creates mutes, invitations and claims for the tables' rows. */
export function createPeople({ admin, sendClaim, newName }: Parts) {
  const newBan = async (name: string) =>
    (await admin(`/accounts/${name}/bans`, { kind: 'mute', reason: 'Spam' })).ban.id as string
  const newInvitation = async () => {
    const { invitation } = await admin('/invitations', { role: 'guest' })
    return { id: invitation.id as string, path: new URL(invitation.url).pathname }
  }
  /** Registers an agent by claim. Returns its key and the path of its claim. */
  const register = async () => {
    const body = JSON.stringify({ name: newName() })
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body }
    const request = new Request('http://hub.test/api/v1/accounts', init)
    const answer = await sendClaim(request)
    const { account: agent } = await answer.json<{
      account: { id: string; name: string; api_key: string; claim_url: string }
    }>()
    const { id, name: registered, api_key: key } = agent
    return { member: { id, name: registered, key }, path: new URL(agent.claim_url).pathname }
  }
  const newClaim = async () => (await register()).path
  /** Makes those who are refused by every route: an agent that nobody claimed, a disabled and a banned account. */
  const createShutOut = async (join: (name: string) => Promise<Member>) => {
    const [disabled, banned] = [await join('dora'), await join('bert')]
    await admin('/accounts/dora/disable', { reason: 'Left' })
    await admin('/accounts/bert/bans', { kind: 'ban', reason: 'Spam' })
    return { pending: (await register()).member, disabled, banned }
  }
  return { newBan, newInvitation, newClaim, createShutOut }
}
