import type {
  DeliveryVerdict,
  SentDelivery,
  TriggerKey,
  TriggerSecrets,
} from '../hub/contract/triggers'
import { fromBase64, toBase64, toBase64Url } from '../shared/base64'
import { triggerLimits } from '../shared/config'
import { deriveBytes } from './credentials/cipher'

/**
 * Creates the secrets of triggers. A secret of an earlier vault key stays valid while that key is among the old ones.
 *
 * @param vaultKeys 32 bytes in base64 each, the current one first
 */
export const createTriggerSecrets = (vaultKeys: readonly string[]): TriggerSecrets => ({
  async read(trigger) {
    const [current] = vaultKeys
    return current === undefined ? null : deriveSecret(current, trigger, trigger.secretVersion)
  },
  async check(trigger, delivery, now) {
    const { secretVersion, oldSecretsUntil } = trigger
    const old = oldSecretsUntil.flatMap((until, at) =>
      now < until ? [secretVersion - 1 - at] : [],
    )
    const versions = [secretVersion, ...old]
    for (const version of versions) {
      for (const vaultKey of vaultKeys) {
        const secret = await deriveSecret(vaultKey, trigger, version)
        const verdict = await checks[trigger.verify](secret, delivery, now)
        if (verdict !== 'signature') return verdict
      }
    }
    return 'signature'
  },
})

/** Returns 32 bytes in the form of the kind. */
async function deriveSecret(
  vaultKey: string,
  { id, verify }: TriggerKey,
  version: number,
): Promise<string> {
  const bytes = await deriveBytes(vaultKey, `rookery trigger ${id} ${version}`)
  return verify === 'standard' ? `whsec_${toBase64(bytes)}` : `rktrigger_${toBase64Url(bytes)}`
}

const isBearer = async (secret: string, delivery: SentDelivery): Promise<DeliveryVerdict> => {
  const given = /^Bearer +(\S+)$/i.exec(delivery.header('authorization') ?? '')?.[1]
  return given !== undefined && (await isSameText(secret, given)) ? 'valid' : 'signature'
}

/** Compares a secret with what was sent in its place, in a time that does not depend on how much of them is equal. */
export async function isSameText(secret: string, given: string): Promise<boolean> {
  if (given === '') return false
  // A signature by each, which only equal ones verify.
  const proof = await sign(encode(secret), encode('key'))
  return isSignedBy(encode(given), encode('key'), proof)
}

const checks: Record<
  TriggerKey['verify'],
  (secret: string, delivery: SentDelivery, now: number) => Promise<DeliveryVerdict>
> = {
  standard: checkStandard,
  github: async (secret, { body, header }) =>
    (await isGithubSigned(secret, body, header('x-hub-signature-256') ?? ''))
      ? 'valid'
      : 'signature',
  bearer: isBearer,
}

/**
 * Checks the signature of a body as GitHub signs it.
 *
 * @param signature HMAC-SHA-256 in hex, as `sha256=<hex>`
 */
export async function isGithubSigned(
  secret: string,
  body: Uint8Array<ArrayBuffer>,
  signature: string,
): Promise<boolean> {
  const hex = /^sha256=([0-9a-f]{64})$/.exec(signature)?.[1]
  if (hex === undefined) return false
  const given = Uint8Array.from(hex.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16))
  return isSignedBy(encode(secret), body, given)
}

/** Signatures of a request that are looked at: two are usual while a secret is replaced. */
const signaturesMax = 10

/**
 * Checks a request as the Standard Webhooks specification has it: the signature is for its id, its time and its body.
 *
 * @param secret `whsec_` and base64
 */
export async function checkStandard(
  secret: string,
  { body, header }: SentDelivery,
  now: number,
): Promise<DeliveryVerdict> {
  const id = header('webhook-id') ?? ''
  const time = header('webhook-timestamp') ?? ''
  if (id === '' || !/^\d{1,12}$/.test(time)) return 'signature'
  const head = encode(`${id}.${time}.`)
  const signed = new Uint8Array(head.length + body.length)
  signed.set(head)
  signed.set(body, head.length)
  const key = fromBase64(secret.replace(/^whsec_/, ''))
  const signatures = (header('webhook-signature') ?? '').split(' ').slice(0, signaturesMax)
  for (const signature of signatures) {
    const given = /^v1,([A-Za-z0-9+/]{43}=)$/.exec(signature)?.[1]
    if (given === undefined || !(await isSignedBy(key, signed, fromBase64(given)))) continue
    return Math.abs(now - Number(time) * 1_000) > triggerLimits.toleranceMs ? 'late' : 'valid'
  }
  return 'signature'
}

const algorithm = { name: 'HMAC', hash: 'SHA-256' }

/** In constant time, as WebCrypto verifies. */
async function isSignedBy(
  secret: Uint8Array<ArrayBuffer>,
  body: Uint8Array<ArrayBuffer>,
  signature: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  const key = await crypto.subtle.importKey('raw', secret, algorithm, false, ['verify'])
  return crypto.subtle.verify('HMAC', key, signature, body)
}

async function sign(
  secret: Uint8Array<ArrayBuffer>,
  body: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array<ArrayBuffer>> {
  const key = await crypto.subtle.importKey('raw', secret, algorithm, false, ['sign'])
  return new Uint8Array(await crypto.subtle.sign('HMAC', key, body))
}

const encode = (text: string): Uint8Array<ArrayBuffer> =>
  new Uint8Array(new TextEncoder().encode(text))
