import type { SentDelivery } from './triggers'

/** A message to one person. */
export interface MailMessage {
  /** The same for every attempt; the Message-ID is made of it. */
  id: string
  to: string
  subject: string
  text: string
  html: string
  /** Where the reader ends such messages with one click (RFC 8058); null: it is sent on request only. */
  unsubscribeUrl: string | null
}

/**
 * How sending ended. `answer` says it as a sentence. `refused`: the server does not take this message, or not for this
 * address. `unknown`: it says that nobody has the address. `later`: it wants to be tried again. `failed`: the server
 * could not be reached, or takes nothing of this hub.
 */
export interface MailResult {
  kind: 'sent' | 'refused' | 'unknown' | 'later' | 'failed'
  answer: string
}

/** An address that takes no mail any more, as a mail service reports it. */
export interface Bounce {
  address: string
  /** As a sentence. */
  reason: string
  /** Milliseconds since the Unix epoch. */
  at: number
}

/** A report of a mail service, which has what ends addresses. `late`: its signature is for another time. */
export type BounceReport =
  | { kind: 'valid'; bounces: Bounce[] }
  | { kind: 'signature' | 'late' | 'malformed' }

/** Sends mail. The hub passes text on, and never sees the login of the server. */
export interface MailSender {
  /** Why this hub cannot send mail, as a sentence; null: it can. */
  problem: string | null
  /** The server as it is shown, without its login; null when none is set. */
  server: string | null
  /** The sender as it is shown. */
  from: string | null
  /** The service that reports bounces, and why it cannot, as a sentence; null: what sends mail reports none. */
  bounces: { service: string; problem: string | null } | null
  /** Reads a report of that service; null when it cannot report. */
  readBounces(report: SentDelivery, now: number): Promise<BounceReport | null>
  /** Returns a token that only this hub can make, for links in mail. The same purpose has the same token. */
  createToken(purpose: string): Promise<string>
  isToken(purpose: string, token: string): Promise<boolean>
  /**
   * Sends messages in order, over one connection where there are connections. Returns a result for each that was tried:
   * it ends at the first `failed`.
   *
   * @param isOver asked before each message; true ends early
   */
  send(messages: readonly MailMessage[], isOver: () => boolean): Promise<MailResult[]>
}
