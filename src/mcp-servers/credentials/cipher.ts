import { fromBase64, toBase64 } from '../../shared/base64'
import { toHex } from '../../shared/sha256'
import { credentialErrors } from './errors'

/** An encrypted value as the database stores it. */
export interface Sealed {
  ciphertext: string
  iv: string
  keyId: string
}

/** Encrypts with the current key and decrypts with the key that a value names. */
export interface Cipher {
  /** Returns the id of the current key; null: none is set. */
  currentId(): Promise<string | null>
  /** @param context what the value belongs to; decryption requires the same context */
  seal(value: string, context: string): Promise<Sealed>
  open(sealed: Sealed, context: string): Promise<string>
}

interface VaultKey {
  id: string
  key: CryptoKey
}

/** Creates a cipher with AES-256-GCM. Keys are 32 bytes in base64, the current one first. */
export function createCipher(keys: string[]): Cipher {
  // Imported at first use: most isolates never decrypt a credential.
  let imported: Promise<VaultKey[]> | undefined
  const load = () => {
    imported ??= Promise.all(keys.map(importKey))
    return imported
  }
  return {
    currentId: async () => (await load())[0]?.id ?? null,
    async seal(value, context) {
      const [current] = await load()
      if (!current) throw credentialErrors.noVaultKey()
      const iv = crypto.getRandomValues(new Uint8Array(12))
      const bytes = await crypto.subtle.encrypt(
        { name: 'AES-GCM', iv, additionalData: encode(context) },
        current.key,
        encode(value),
      )
      return { ciphertext: toBase64(new Uint8Array(bytes)), iv: toBase64(iv), keyId: current.id }
    },
    async open({ ciphertext, iv, keyId }, context) {
      const found = (await load()).find(({ id }) => id === keyId)
      if (!found) throw credentialErrors.unknownVaultKey(keyId)
      try {
        const bytes = await crypto.subtle.decrypt(
          { name: 'AES-GCM', iv: fromBase64(iv), additionalData: encode(context) },
          found.key,
          fromBase64(ciphertext),
        )
        return new TextDecoder().decode(bytes)
      } catch (cause) {
        throw credentialErrors.notDecryptable(cause)
      }
    },
  }
}

async function importKey(text: string): Promise<VaultKey> {
  const raw = fromBase64(text)
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', raw))
  const id = toHex(digest.subarray(0, 4))
  const key = await crypto.subtle.importKey('raw', raw, 'AES-GCM', false, ['encrypt', 'decrypt'])
  return { id, key }
}

const encode = (text: string) => new TextEncoder().encode(text)

/**
 * Derives 32 bytes of a vault key by HKDF-SHA-256 without a salt (RFC 5869), so that they are stored nowhere.
 *
 * @param vaultKey 32 bytes in base64
 * @param info what they are for; another one gives unrelated bytes
 */
export async function deriveBytes(
  vaultKey: string,
  info: string,
): Promise<Uint8Array<ArrayBuffer>> {
  const raw = fromBase64(vaultKey)
  const base = await crypto.subtle.importKey('raw', raw, 'HKDF', false, ['deriveBits'])
  const [salt, label] = [new Uint8Array(), encode(info)]
  const algorithm = { name: 'HKDF', hash: 'SHA-256', salt, info: label }
  return new Uint8Array(await crypto.subtle.deriveBits(algorithm, base, 256))
}
