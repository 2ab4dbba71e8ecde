/** A browser that accepts messages of this hub. */
export interface PushTarget {
  /** The address at the browser's push service. */
  endpoint: string
  /** The browser's public key, base64url. */
  p256dh: string
  /** The secret that browser and hub share, base64url. */
  auth: string
  /** The hub's public key that the browser was given, base64url. */
  serverKey: string
}

/** What a notification shows. The push service cannot read it. */
export interface PushMessage {
  title: string
  body: string
  /** Path on the hub that a click opens. */
  path: string
  /** A later message with the same tag replaces this one. */
  tag: string
}

/**
 * How sending ended. `gone`: the browser no longer accepts messages. `failed`: trying again later may help,
 * in `retryAfterMs` if the push service said when. `refused`: trying again does not help.
 */
export type PushResult =
  | { kind: 'sent' }
  | { kind: 'gone' }
  | { kind: 'failed' | 'refused'; reason: string; retryAfterMs: number | null }

/** Sends messages to browsers (RFC 8030, 8291 and 8292). */
export interface PushSender {
  /** The hub's public key for new devices, base64url; null when the hub has no vault key. */
  readPublicKey(): Promise<string | null>
  send(target: PushTarget, message: PushMessage): Promise<PushResult>
}
