/** How messages are written: for programs, or as the incoming webhooks of Slack and Discord take them. */
export const webhookFormats = ['json', 'slack', 'discord'] as const
export type WebhookFormat = (typeof webhookFormats)[number]

/** A webhook as the hub stores it: what it may show, and what only the sender can read. */
export interface SealedWebhook {
  /** The URL without what can be a credential. */
  url: string
  host: string
  /** URL and secrets, encrypted. */
  sealed: string
}

/** A message to a webhook. */
export interface WebhookMessage {
  webhookId: string
  sealed: string
  /** The same for every attempt. */
  id: string
  /** JSON. */
  body: string
}

/**
 * How sending ended. `answer` says it as a sentence. `gone`: the receiver wants no more messages. `refused`: it does
 * not take this message. `failed`: it could not be reached, or takes nothing now.
 */
export interface WebhookResult {
  kind: 'sent' | 'gone' | 'refused' | 'failed'
  answer: string
  /** When the receiver wants to be tried again; null: it did not say. */
  retryAfterMs: number | null
}

/**
 * Sends messages to webhooks and signs them (Standard Webhooks). The hub stores what it returns sealed, and passes a
 * secret on once, to the person who created it.
 */
export interface WebhookSender {
  /** Creates the secret of a webhook. @throws VALIDATION for a URL that must not be requested, UNAVAILABLE without a vault key */
  create(webhookId: string, url: string): Promise<SealedWebhook & { secret: string }>
  /** Changes the URL and keeps the secrets. @throws VALIDATION, UNAVAILABLE */
  move(webhookId: string, sealed: string, url: string): Promise<SealedWebhook>
  /** Creates a new secret; the previous ones also sign for a day. @throws UNAVAILABLE */
  rotate(webhookId: string, sealed: string): Promise<{ sealed: string; secret: string }>
  send(message: WebhookMessage): Promise<WebhookResult>
}
