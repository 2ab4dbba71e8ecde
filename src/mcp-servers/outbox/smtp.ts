import { connect as connectPlain, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import MimeNode from 'nodemailer/lib/mime-node'
import SMTPConnection from 'nodemailer/lib/smtp-connection'
import type { MailMessage, MailResult } from '../../hub/contract/mail'
import { mailLimits } from '../../shared/config'
import type { SmtpServer } from '../../shared/mail-url'
import { type MailTransport, type Sender, toReason } from './mail-transport'

/**
 * Opens a session with a mail server: connects, with TLS unless the server is this machine, and signs in.
 *
 * @throws Error that says what went wrong as a sentence
 */
export async function openSmtp(server: SmtpServer, from: Sender): Promise<MailTransport> {
  const { host, port, security, login } = server
  const { timeoutMs } = mailLimits
  let connection: SMTPConnection | null = null
  try {
    // The library would resolve the name itself, which fails in workerd.
    const socket = await connect(server)
    const session = new SMTPConnection({
      host,
      port,
      connection: socket,
      name: domainOf(from),
      secure: security === 'tls',
      secured: security === 'tls',
      requireTLS: security === 'starttls',
      ignoreTLS: security === 'plain',
      connectionTimeout: timeoutMs,
      greetingTimeout: timeoutMs,
      socketTimeout: timeoutMs,
    })
    connection = session
    // A step that fails reports it; what the server sends afterwards is for nobody.
    session.on('error', () => undefined)
    await step(session, (done) => session.connect(done))
    if (login) {
      const credentials = { user: login.user, pass: login.password }
      await step(session, (done) => session.login({ credentials }, done))
    }
    return {
      send: (message) => send(session, from, message),
      close: () => session.quit(),
    }
  } catch (error) {
    connection?.close()
    throw new Error(explain(server, error))
  }
}

const domainOf = ({ address }: Sender): string => address.slice(address.lastIndexOf('@') + 1)

async function connect({ host, port, security }: SmtpServer): Promise<Socket> {
  const isTls = security === 'tls'
  const socket = isTls ? connectTls({ host, port }) : connectPlain({ host, port })
  // What breaks later breaks the step that the session is in.
  socket.on('error', () => undefined)
  try {
    await step(socket, (done) => socket.once(isTls ? 'secureConnect' : 'connect', () => done()))
    return socket
  } catch (error) {
    socket.destroy()
    throw error
  }
}

type Done = (error?: unknown) => void

interface Breakable {
  once(event: 'error', listener: (error: unknown) => void): unknown
  off(event: 'error', listener: (error: unknown) => void): unknown
}

/** Waits for a step. Rejects when it fails, when the connection breaks, or when it takes too long. */
async function step(connection: Breakable, begin: (done: Done) => void): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const timer = setTimeout(() => reject(new TimeoutError()), mailLimits.timeoutMs)
  connection.once('error', reject)
  try {
    begin((error) => (error ? reject(error) : resolve()))
    await promise
  } finally {
    clearTimeout(timer)
    connection.off('error', reject)
  }
}

class TimeoutError extends Error {
  override readonly name = 'TimeoutError'
}

async function send(
  session: SMTPConnection,
  from: Sender,
  message: MailMessage,
): Promise<MailResult> {
  try {
    const content = await buildMessage(from, message)
    const envelope = { from: from.address, to: [message.to] }
    await step(session, (done) => session.send(envelope, content, done))
    return { kind: 'sent', answer: 'The mail server took it.' }
  } catch (error) {
    const result = toResult(error)
    // A server keeps the sender of a message that it refused, and takes no second one before this.
    if (result.kind !== 'failed') await step(session, (done) => session.reset(done))
    return result
  }
}

/** Builds a message with a text and an HTML part. The library folds and encodes headers, line breaks included. */
async function buildMessage(from: Sender, message: MailMessage) {
  const { id, to, subject, text, html, unsubscribeUrl } = message
  const root = new MimeNode('multipart/alternative', { newline: 'win' })
  root.setHeader({
    from: [from],
    to: [{ name: '', address: to }],
    subject,
    'message-id': `<${id}@${domainOf(from)}>`,
    // No vacation notices in answer to it (RFC 3834).
    'auto-submitted': 'auto-generated',
    ...(unsubscribeUrl !== null && {
      'list-unsubscribe': { prepared: true, foldLines: true, value: `<${unsubscribeUrl}>` },
      'list-unsubscribe-post': 'List-Unsubscribe=One-Click',
    }),
  })
  root.createChild('text/plain; charset=utf-8').setContent(text)
  root.createChild('text/html; charset=utf-8').setContent(html)
  return root.build()
}

interface SmtpFault {
  code?: unknown
  command?: unknown
  response?: unknown
  responseCode?: unknown
}

/** Reads how a server refused a message (RFC 5321, section 4.2; RFC 3463 for the enhanced codes). */
function toResult(error: unknown): MailResult {
  const { command, response, responseCode } = (error ?? {}) as SmtpFault
  if (typeof responseCode !== 'number' || (command !== 'RCPT TO' && command !== 'DATA')) {
    return { kind: 'failed', answer: explainFault(error) }
  }
  const answer = explainFault(error)
  // 421: the server closes the connection.
  if (responseCode === 421) return { kind: 'failed', answer }
  if (responseCode < 500) return { kind: 'later', answer }
  const isUnknown = command === 'RCPT TO' && /\b5\.1\.(1|10)\b/.test(String(response))
  return { kind: isUnknown ? 'unknown' : 'refused', answer }
}

function explain({ host, port, security }: SmtpServer, error: unknown): string {
  const { command, responseCode } = (error ?? {}) as SmtpFault
  const hasAnswered = typeof responseCode === 'number' || command !== undefined
  if (hasAnswered) return explainFault(error)
  const how = security === 'tls' ? ' with TLS' : ''
  return `No connection to ${host}:${port}${how}. ${explainFault(error)}`
}

/** Returns what went wrong, as a sentence. */
function explainFault(error: unknown): string {
  const { name, message } = error instanceof Error ? error : { name: '', message: '' }
  const { code, response } = (error ?? {}) as SmtpFault
  if (typeof response === 'string' && response !== '') {
    return `The mail server answered: ${toReason(response)}`
  }
  const isTimeout = name === 'TimeoutError' || name === 'AbortError' || code === 'ETIMEDOUT'
  if (isTimeout) return `The mail server did not answer within ${mailLimits.timeoutMs / 1000} s.`
  if (code === 'ETLS') return 'The mail server does not offer the TLS that is required.'
  return `The connection failed: ${toReason(message || 'no reason was given')}`
}
