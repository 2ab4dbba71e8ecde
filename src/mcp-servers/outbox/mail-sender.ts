import type { MailMessage, MailResult, MailSender } from '../../hub/contract/mail'
import { toBase64Url } from '../../shared/base64'
import { type MailService, parseMailUrl, parseSender, type SmtpServer } from '../../shared/mail-url'
import type { Settings } from '../../shared/settings'
import { deriveBytes } from '../credentials/cipher'
import type { Resolve } from '../fetch/guarded-fetch'
import { findBounceProblem, readBounces } from './mail-bounces'
import { createServiceTransport } from './mail-services'
import type { MailTransport, Sender } from './mail-transport'

interface MailSenderDeps {
  settings: Pick<
    Settings,
    'ROOKERY_MAIL_URL' | 'ROOKERY_MAIL_FROM' | 'ROOKERY_MAIL_HOOK_SECRET' | 'ROOKERY_ORIGIN'
  >
  /** Vault keys, 32 bytes in base64 each, the current one first. */
  vaultKeys: readonly string[]
  resolve?: Resolve | undefined
}

/** Creates the sender of mail by the settings of the operator. */
export function createMailSender({ settings, vaultKeys, resolve }: MailSenderDeps): MailSender {
  const server = parseMailUrl(settings.ROOKERY_MAIL_URL ?? '')
  const from = parseSender(settings.ROOKERY_MAIL_FROM ?? '')
  const service = server && server.kind !== 'smtp' ? server : null
  const hookSecret = settings.ROOKERY_MAIL_HOOK_SECRET
  const bounceProblem = service && findBounceProblem(service.kind, hookSecret)
  const makeToken = async (vaultKey: string, purpose: string) =>
    toBase64Url(await deriveBytes(vaultKey, `rookery mail ${purpose}`))
  return {
    problem: findProblem(settings, vaultKeys),
    server: server && describe(server),
    from: from && (from.name === '' ? from.address : `${from.name} <${from.address}>`),
    bounces: service && { service: serviceLabels[service.kind], problem: bounceProblem },
    async readBounces(report, now) {
      if (!service || bounceProblem !== null || hookSecret === undefined) return null
      return readBounces(service.kind, hookSecret, report, now)
    },
    async createToken(purpose) {
      const [current] = vaultKeys
      if (current === undefined) throw new Error('This hub has no vault key.')
      return makeToken(current, purpose)
    },
    async isToken(purpose, token) {
      const own = await Promise.all(vaultKeys.map((key) => makeToken(key, purpose)))
      return own.some((each) => isEqual(each, token))
    },
    async send(messages, isOver) {
      if (!server || !from) return []
      return sendAll(() => open(server, from, resolve), messages, isOver)
    },
  }
}

function findProblem(
  { ROOKERY_MAIL_URL, ROOKERY_MAIL_FROM, ROOKERY_ORIGIN }: MailSenderDeps['settings'],
  vaultKeys: readonly string[],
): string | null {
  if (!ROOKERY_MAIL_URL) return 'This hub sends no mail: ROOKERY_MAIL_URL is not set.'
  if (!ROOKERY_MAIL_FROM) return 'Set ROOKERY_MAIL_FROM, the address that mail comes from.'
  if (!ROOKERY_ORIGIN) return 'Set ROOKERY_ORIGIN: links in mail need the address of the hub.'
  if (vaultKeys.length === 0) return 'Set ROOKERY_VAULT_KEY: links in mail are made with it.'
  return null
}

/** Compares in a time that does not depend on where two texts differ. */
function isEqual(a: string, b: string): boolean {
  if (a.length !== b.length) return false
  let difference = 0
  for (let index = 0; index < a.length; index++) {
    difference |= a.charCodeAt(index) ^ b.charCodeAt(index)
  }
  return difference === 0
}

const securityLabels: Record<SmtpServer['security'], string> = {
  tls: 'TLS',
  starttls: 'STARTTLS',
  plain: 'no TLS',
}

const serviceLabels: Record<MailService['kind'], string> = {
  postmark: 'Postmark',
  resend: 'Resend',
}

const describe = (server: SmtpServer | MailService): string =>
  server.kind === 'smtp'
    ? `${server.host}:${server.port} (${securityLabels[server.security]})`
    : serviceLabels[server.kind]

async function open(
  server: SmtpServer | MailService,
  from: Sender,
  resolve: Resolve | undefined,
): Promise<MailTransport> {
  if (server.kind !== 'smtp') return createServiceTransport(server, from, resolve)
  // Only a hub that sends by SMTP runs the library.
  const { openSmtp } = await import('./smtp')
  return openSmtp(server, from)
}

async function sendAll(
  openTransport: () => Promise<MailTransport>,
  messages: readonly MailMessage[],
  isOver: () => boolean,
): Promise<MailResult[]> {
  const results: MailResult[] = []
  let transport: MailTransport | null = null
  try {
    transport = await openTransport()
    for (const message of messages) {
      if (isOver()) break
      const result = await transport.send(message)
      results.push(result)
      if (result.kind === 'failed') break
    }
  } catch (error) {
    const answer = error instanceof Error ? error.message : 'The mail server could not be reached.'
    results.push({ kind: 'failed', answer })
  } finally {
    transport?.close()
  }
  return results
}
