import type { HookSecrets } from '../hub/contract/review-hooks'
import { toHex } from '../shared/sha256'
import { deriveBytes } from './credentials/cipher'

/**
 * Creates the secrets of hooks. A secret of an earlier vault key stays valid while that key is among the old ones.
 *
 * @param vaultKeys 32 bytes in base64 each, the current one first
 */
export const createHookSecrets = (vaultKeys: readonly string[]): HookSecrets => ({
  async read(hookId) {
    const [current] = vaultKeys
    return current === undefined ? null : deriveSecret(current, hookId)
  },
  async isSigned(hookId, body, signature) {
    const hex = /^sha256=([0-9a-f]{64})$/.exec(signature)?.[1]
    if (hex === undefined) return false
    const given = Uint8Array.from(hex.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16))
    for (const vaultKey of vaultKeys) {
      const secret = encode(await deriveSecret(vaultKey, hookId))
      const algorithm = { name: 'HMAC', hash: 'SHA-256' }
      const key = await crypto.subtle.importKey('raw', secret, algorithm, false, ['verify'])
      if (await crypto.subtle.verify('HMAC', key, given, encode(body))) return true
    }
    return false
  },
})

/** Returns 32 bytes in hex. */
async function deriveSecret(vaultKey: string, hookId: string): Promise<string> {
  return toHex(await deriveBytes(vaultKey, `rookery review hook ${hookId}`))
}

const encode = (text: string) => new TextEncoder().encode(text)
