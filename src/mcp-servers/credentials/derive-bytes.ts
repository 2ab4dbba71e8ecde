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
  const raw = Uint8Array.from(atob(vaultKey), (char) => char.charCodeAt(0))
  const base = await crypto.subtle.importKey('raw', raw, 'HKDF', false, ['deriveBits'])
  const [salt, label] = [new Uint8Array(), new TextEncoder().encode(info)]
  const algorithm = { name: 'HKDF', hash: 'SHA-256', salt, info: label }
  return new Uint8Array(await crypto.subtle.deriveBits(algorithm, base, 256))
}
