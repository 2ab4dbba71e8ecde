import type { MailMessage, MailResult } from '../../hub/contract/mail'
import { shortenText } from '../../shared/cut-text'
import { withoutDirection } from '../../shared/texts'

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

/** Characters of a reason that are kept. */
const reasonChars = 200

/** Returns what a server or service wrote about a message, on one line. */
export const toReason = (text: string): string =>
  shortenText(
    withoutDirection(text)
      .replace(/[\s\p{Cc}]+/gu, ' ')
      .trim(),
    reasonChars,
  )
