/**
 * Replaces the packages that read certificates (see `wrangler.toml`), a tenth of the bundle: `@simplewebauthn/server` imports
 * them for authenticators that prove who made them, and the hub asks for no such proof (`attestationType: 'none'`). Of all
 * they do it needs one thing: the two numbers of an ECDSA signature.
 */

/** A signature as WebAuthn has it: SEQUENCE { r INTEGER, s INTEGER } in DER (RFC 3279, 2.2.3). */
export class ECDSASigValue {
  r = new ArrayBuffer()
  s = new ArrayBuffer()
}

export const AsnParser = {
  /** @throws for anything but a signature in DER, and for a certificate */
  parse(der: Uint8Array, type: unknown): ECDSASigValue {
    if (type !== ECDSASigValue) throw refusal()
    const sequence = readElement(der, 0, SEQUENCE)
    const r = readElement(sequence.content, 0, INTEGER)
    const s = readElement(sequence.content, r.end, INTEGER)
    if (sequence.end !== der.length || s.end !== sequence.content.length) throw malformed()
    return { r: r.content.slice().buffer, s: s.content.slice().buffer }
  },
}

const INTEGER = 0x02
const SEQUENCE = 0x30

/** Reads a tag, a length below 256 and the content. Numbers of the curves in use are at most 67 bytes long. */
function readElement(bytes: Uint8Array, at: number, tag: number) {
  const isLong = bytes[at + 1] === 0x81
  const length = bytes[at + (isLong ? 2 : 1)] ?? 0
  const start = at + (isLong ? 3 : 2)
  const end = start + length
  const isShortest = isLong === length >= 0x80
  if (bytes[at] !== tag || length === 0 || !isShortest || end > bytes.length) throw malformed()
  return { content: bytes.subarray(start, end), end }
}

const malformed = () => new Error('The signature is no sequence of two numbers in DER.')
const refusal = () => new Error('The passkey came with a certificate, and the hub asks for none.')

class Certificate {
  constructor() {
    throw refusal()
  }
}

export {
  Certificate as AuthorityKeyIdentifierExtension,
  Certificate as BasicConstraints,
  Certificate as CRLDistributionPointsExtension,
  Certificate as ECParameters,
  Certificate as ExtendedKeyUsage,
  Certificate as KeyDescription,
  Certificate as OctetString,
  Certificate as RSAPublicKey,
  Certificate as SubjectAlternativeName,
  Certificate as SubjectKeyIdentifierExtension,
  Certificate as X509Certificate,
  Certificate as X509ChainBuilder,
  Certificate as X509Crl,
  Certificate,
}

/** Names of algorithms and fields in certificates, which none can have. */
const noName = ''

export {
  noName as id_ce_basicConstraints,
  noName as id_ce_extKeyUsage,
  noName as id_ce_keyDescription,
  noName as id_ce_subjectAltName,
  noName as id_ecdsaWithSHA256,
  noName as id_ecdsaWithSHA384,
  noName as id_ecdsaWithSHA512,
  noName as id_ecPublicKey,
  noName as id_ml_dsa_44,
  noName as id_ml_dsa_65,
  noName as id_ml_dsa_87,
  noName as id_rsaEncryption,
  noName as id_secp256r1,
  noName as id_secp384r1,
  noName as id_sha1WithRSAEncryption,
  noName as id_sha256WithRSAEncryption,
  noName as id_sha384WithRSAEncryption,
  noName as id_sha512WithRSAEncryption,
}
