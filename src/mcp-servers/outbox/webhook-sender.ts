import type {
  SealedWebhook,
  WebhookMessage,
  WebhookResult,
  WebhookSender,
} from '../../hub/contract/webhooks'
import { fromBase64, toBase64 } from '../../shared/base64'
import { webhookLimits } from '../../shared/config'
import { AppError } from '../../shared/errors'
import type { Clock } from '../../shared/ids'
import type { Cipher } from '../credentials/cipher'
import { findUrlProblems, type Reach, toHost } from '../fetch/check-url'
import { createGuardedStream, type Resolve } from '../fetch/guarded-fetch'

/** Errors of webhooks, as users read them. */
const webhookSenderErrors = {
  noKey: () =>
    new AppError('UNAVAILABLE', 'This hub cannot create secrets.', {
      hint: 'Its operator has to set ROOKERY_VAULT_KEY.',
    }),
  invalidUrl: (reason: string) =>
    new AppError('VALIDATION', `Nothing can be sent to this URL: ${reason}.`, {
      hint: 'Enter the https URL of a service on the public internet.',
      details: [{ path: 'body.url', message: `Nothing can be sent to this URL: ${reason}` }],
    }),
}

interface WebhookSenderDeps {
  cipher: Cipher
  clock: Pick<Clock, 'now'>
  resolve?: Resolve | undefined
}

/** What is encrypted of a webhook. */
interface Contents {
  url: string
  secret: string
  /** Secrets before the last rotations, the newest first; they sign, too, until then. Milliseconds since the Unix epoch. */
  previous?: { secret: string; until: number }[]
}

/**
 * Creates the sender of webhooks. Members choose the addresses, so requests are guarded as those to any external
 * service: HTTPS to public hosts only. No redirect is followed, and of an answer only the status is read.
 */
export function createWebhookSender(deps: WebhookSenderDeps): WebhookSender {
  const { cipher, clock } = deps
  const seal = async (webhookId: string, contents: Contents): Promise<SealedWebhook> => {
    if ((await cipher.currentId()) === null) throw webhookSenderErrors.noKey()
    const { url } = contents
    const sealed = JSON.stringify(await cipher.seal(JSON.stringify(contents), toContext(webhookId)))
    return { url: maskUrl(url), host: toHost(new URL(url)), sealed }
  }
  const open = async (webhookId: string, sealed: string): Promise<Contents> => {
    return JSON.parse(await cipher.open(JSON.parse(sealed), toContext(webhookId)))
  }
  return {
    async create(webhookId, url) {
      assertReachable(url)
      const secret = createSecret()
      return { ...(await seal(webhookId, { url, secret })), secret }
    },
    async move(webhookId, sealed, url) {
      assertReachable(url)
      return seal(webhookId, { ...(await open(webhookId, sealed)), url })
    },
    async rotate(webhookId, sealed) {
      const before = await open(webhookId, sealed)
      const secret = createSecret()
      const now = clock.now()
      // A rotation that is asked for twice must not end the secret that the receiver has.
      const older = (before.previous ?? []).filter(({ until }) => until > now)
      const last = { secret: before.secret, until: now + webhookLimits.rotationMs }
      const previous = [last, ...older].slice(0, webhookLimits.previousSecretsMax)
      const { sealed: after } = await seal(webhookId, { url: before.url, secret, previous })
      return { sealed: after, secret }
    },
    async send(message) {
      try {
        return await post(deps, message, await open(message.webhookId, message.sealed))
      } catch (error) {
        if (!(error instanceof AppError)) throw error
        return { kind: 'failed', answer: error.message, retryAfterMs: null }
      }
    },
  }
}

/** What a value is encrypted for: another webhook cannot use it. */
const toContext = (webhookId: string): string => `webhook ${webhookId}`

const toReach = (url: URL): Reach => ({
  hosts: [toHost(url)],
  allowHttp: false,
  allowPrivate: false,
})

/** @throws VALIDATION */
function assertReachable(text: string): void {
  const url = new URL(text)
  const [problem] = findUrlProblems(url, toReach(url))
  if (problem) throw webhookSenderErrors.invalidUrl(problem.reason)
}

/** Characters of the end of a URL that are shown, to distinguish two of the same host. */
const shownChars = 4

/** Returns a URL without what can be a credential: Slack and Discord have theirs in the path. */
function maskUrl(text: string): string {
  const { origin, pathname, search } = new URL(text)
  const rest = pathname + search
  return rest.length <= 2 * shownChars ? `${origin}/…` : `${origin}/…${rest.slice(-shownChars)}`
}

async function post(
  { clock, resolve }: WebhookSenderDeps,
  { id, body }: WebhookMessage,
  { url: text, secret, previous = [] }: Contents,
): Promise<WebhookResult> {
  const now = clock.now()
  const url = new URL(text)
  const valid = previous.filter(({ until }) => until > now)
  const secrets = [secret, ...valid.map((each) => each.secret)]
  const timeout = AbortSignal.timeout(webhookLimits.timeoutMs)
  const send = createGuardedStream({
    service: url.hostname,
    reach: toReach(url),
    signal: timeout,
    resolve,
  })
  const headers = await signMessage({ id, timestamp: Math.floor(now / 1000), body }, secrets)
  try {
    const response = await send({
      method: 'POST',
      url,
      headers: { 'content-type': 'application/json', 'user-agent': 'Rookery', ...headers },
      body,
    })
    // However long the answer is, nothing of it is read.
    await response.body?.cancel()
    return toResult(response)
  } catch (error) {
    if (!timeout.aborted) throw error
    const seconds = webhookLimits.timeoutMs / 1000
    return { kind: 'failed', answer: `It timed out after ${seconds} s.`, retryAfterMs: null }
  }
}

/** Statuses with which a receiver says that it takes nothing now (RFC 9110, 6585, 8470). */
const busyStatuses = [408, 425, 429]

function toResult({ status, headers }: Pick<Response, 'status' | 'headers'>): WebhookResult {
  const answer = `It answered ${status}.`
  if (status >= 200 && status < 300) return { kind: 'sent', answer, retryAfterMs: null }
  if (status === 410) return { kind: 'gone', answer, retryAfterMs: null }
  const isRefused = status >= 400 && status < 500 && !busyStatuses.includes(status)
  const seconds = Number(headers.get('retry-after') ?? '')
  const retryAfterMs = Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : null
  return { kind: isRefused ? 'refused' : 'failed', answer, retryAfterMs }
}

/** Prefix of the secrets of Standard Webhooks. */
const prefix = 'whsec_'

/** Creates a secret: 32 random bytes in base64 with the prefix. */
export const createSecret = (): string =>
  prefix + toBase64(crypto.getRandomValues(new Uint8Array(32)))

interface SignedContent {
  id: string
  /** Seconds since the Unix epoch. */
  timestamp: number
  body: string
}

/**
 * Returns the headers of a message as the Standard Webhooks specification has them: HMAC-SHA-256 over
 * `id.timestamp.body`, one signature for each secret.
 */
export async function signMessage(
  { id, timestamp, body }: SignedContent,
  secrets: readonly string[],
): Promise<Record<string, string>> {
  const content = new TextEncoder().encode(`${id}.${timestamp}.${body}`)
  const signatures = await Promise.all(secrets.map((secret) => sign(content, secret)))
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatures.map((signature) => `v1,${signature}`).join(' '),
  }
}

async function sign(content: Uint8Array, secret: string): Promise<string> {
  const bytes = fromBase64(secret.slice(prefix.length))
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const key = await crypto.subtle.importKey('raw', bytes, algorithm, false, ['sign'])
  return toBase64(new Uint8Array(await crypto.subtle.sign('HMAC', key, content)))
}
