export const toBase64 = (bytes: Uint8Array): string =>
  // Not by a spread: a long one would be too many arguments.
  btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))

/** @throws when the text is not base64 */
export const fromBase64 = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text), (char) => char.charCodeAt(0))

/** Returns bytes in the alphabet of URLs (RFC 4648, section 5), without padding. */
export const toBase64Url = (bytes: Uint8Array): string =>
  toBase64(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')

/** @throws when the text is not base64url */
export const fromBase64Url = (text: string): Uint8Array<ArrayBuffer> =>
  fromBase64(text.replaceAll('-', '+').replaceAll('_', '/'))
