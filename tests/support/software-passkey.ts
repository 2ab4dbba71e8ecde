/** What a test's device answers to the options of the hub. */
export interface SoftwarePasskey {
  id: string
  /** Answer to the options of adding a passkey. */
  registration: string
  /** Signs the options of signing in; `changes` makes the answer wrong. */
  sign(options: { challenge: string }, changes?: Partial<Assertion>): Promise<string>
}

interface Assertion {
  origin: string
  counter: number
  flags: number
  userHandle: string
  /** Replaces the signature. */
  signature: string
}

const userPresent = 0x01
const userVerified = 0x04
const hasKey = 0x40

const concat = (...parts: (Uint8Array | number[])[]): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(parts.flatMap((part) => [...part]))
const encode = (text: string) => new TextEncoder().encode(text)
export const toBase64Url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
const fromBase64Url = (text: string) =>
  Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (each) =>
    each.charCodeAt(0),
  )
const hash = async (bytes: Uint8Array) =>
  new Uint8Array(await crypto.subtle.digest('SHA-256', concat(bytes)))
const uint32 = (value: number) => [24, 16, 8, 0].map((shift) => (value >> shift) & 0xff)
const uint16 = (value: number) => [value >> 8, value & 0xff]
/** CBOR of a text shorter than 24 bytes. */
const cborText = (text: string) => concat([0x60 + text.length], encode(text))
const cborBytes = (bytes: Uint8Array) => concat([0x59, ...uint16(bytes.length)], bytes)

/** A public key of P-256 as COSE. */
function toCose({ x = '', y = '' }: JsonWebKey): Uint8Array {
  const head = [0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01]
  return concat(head, [0x21, 0x58, 32], fromBase64Url(x), [0x22, 0x58, 32], fromBase64Url(y))
}

/** WebCrypto signs as r and s, WebAuthn wants them in DER. */
function toDer(signature: Uint8Array): Uint8Array {
  const toInteger = (bytes: Uint8Array) => {
    const start = bytes.findIndex((byte) => byte !== 0)
    const short = bytes.slice(start)
    const padded = (short[0] ?? 0) > 0x7f ? concat([0], short) : short
    return concat([0x02, padded.length], padded)
  }
  const body = concat(toInteger(signature.slice(0, 32)), toInteger(signature.slice(32)))
  return concat([0x30, body.length], body)
}

/** Makes a passkey for the options that the hub sent, as a device without a counter of its own does. */
export async function createSoftwarePasskey(
  options: { challenge: string; rp: { id: string }; user: { id: string } },
  origin: string,
): Promise<SoftwarePasskey> {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256' }
  const pair = (await crypto.subtle.generateKey(algorithm, true, [
    'sign',
    'verify',
  ])) as CryptoKeyPair
  const jwk = (await crypto.subtle.exportKey('jwk', pair.publicKey)) as JsonWebKey
  const rawId = crypto.getRandomValues(new Uint8Array(32))
  const id = toBase64Url(rawId)
  const rpIdHash = await hash(encode(options.rp.id))
  const toClientData = (type: string, challenge: string, from: string) =>
    encode(JSON.stringify({ type, challenge, origin: from, crossOrigin: false }))
  const registered = concat(
    rpIdHash,
    [userPresent | userVerified | hasKey, ...uint32(0)],
    new Uint8Array(16),
    uint16(rawId.length),
    rawId,
    toCose(jwk),
  )
  const attestation = concat(
    [0xa3],
    cborText('fmt'),
    cborText('none'),
    cborText('attStmt'),
    [0xa0],
    cborText('authData'),
    cborBytes(registered),
  )
  const common = { id, rawId: id, type: 'public-key', clientExtensionResults: {} }
  const registration = JSON.stringify({
    ...common,
    response: {
      clientDataJSON: toBase64Url(toClientData('webauthn.create', options.challenge, origin)),
      attestationObject: toBase64Url(attestation),
      transports: ['internal'],
    },
  })
  const sign: SoftwarePasskey['sign'] = async ({ challenge }, changes = {}) => {
    const flags = changes.flags ?? userPresent | userVerified
    const data = concat(rpIdHash, [flags, ...uint32(changes.counter ?? 0)])
    const clientData = toClientData('webauthn.get', challenge, changes.origin ?? origin)
    const signed = await crypto.subtle.sign(
      { name: 'ECDSA', hash: 'SHA-256' },
      pair.privateKey,
      concat(data, await hash(clientData)),
    )
    return JSON.stringify({
      ...common,
      response: {
        clientDataJSON: toBase64Url(clientData),
        authenticatorData: toBase64Url(data),
        signature: changes.signature ?? toBase64Url(toDer(new Uint8Array(signed))),
        userHandle: changes.userHandle ?? options.user.id,
      },
    })
  }
  return { id, registration, sign }
}
