const encoder = new TextEncoder()

/** Returns the forms of a whole secret: plain, escaped for JSON or a URL, or byte by byte. */
export function listPlainForms(secret: string): string[] {
  const bytes = encoder.encode(secret)
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0'))
  const escaped = hex.map((pair) => `\\x${pair}`)
  return [...textForms(secret), hex.join(''), escaped.join(''), bytes.join(',')]
}

const textForms = (secret: string): string[] => [
  ...new Set([secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)]),
]

/** Returns the forms of a secret in base64, at any offset: plain, for JSON or a URL, in UTF-16, and in base64. */
export function listBase64Forms(secret: string): string[] {
  const once = textForms(secret).flatMap((text) => coresOf(encoder.encode(text)))
  const utf16 = Uint8Array.from(secret.split('').flatMap(toUtf16))
  return [...once, ...once.flatMap((core) => coresOf(encoder.encode(core))), ...coresOf(utf16)]
}

const toUtf16 = (char: string): number[] => [char.charCodeAt(0) & 255, char.charCodeAt(0) >> 8]

/** Returns the base64 characters that depend on these bytes only, after zero, one or two other bytes. */
const coresOf = (bytes: Uint8Array): string[] =>
  [0, 1, 2].map((offset) => {
    const padded = new Uint8Array(offset + bytes.length)
    padded.set(bytes, offset)
    const whole = btoa(padded.reduce((text, byte) => text + String.fromCharCode(byte), ''))
    return whole.slice(Math.ceil((offset * 8) / 6), Math.floor((padded.length * 8) / 6))
  })
