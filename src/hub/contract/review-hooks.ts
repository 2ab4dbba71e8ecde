/**
 * The secrets with which other services sign what they send to a hook. They are derived from the vault key and
 * stored nowhere.
 */
export interface HookSecrets {
  /** Returns the secret of a hook; null when the hub has no vault key. */
  read(hookId: string): Promise<string | null>
  /**
   * Returns whether a body was signed with the secret of a hook.
   *
   * @param signature HMAC-SHA-256 in hex, as `sha256=<hex>`
   */
  isSigned(hookId: string, body: string, signature: string): Promise<boolean>
}
