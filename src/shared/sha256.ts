/** Returns the SHA-256 of bytes, or of a text's UTF-8 bytes, as lower-case hex. */
export async function sha256(of: string | Uint8Array<ArrayBuffer>): Promise<string> {
  const bytes = typeof of === 'string' ? new TextEncoder().encode(of) : of
  return toHex(await crypto.subtle.digest('SHA-256', bytes))
}

/** Returns bytes as lower-case hex. */
export const toHex = (bytes: ArrayBuffer | Uint8Array): string =>
  Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('')
