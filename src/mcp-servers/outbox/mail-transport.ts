import type { MailMessage, MailResult } from '../../hub/contract/mail'

/** Whom mail comes from. */
export interface Sender {
  name: string
  address: string
}

/** Takes messages one after the other. */
export interface MailTransport {
  /** @throws when nothing can be sent now */
  send(message: MailMessage): Promise<MailResult>
  close(): void
}
