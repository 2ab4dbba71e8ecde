import { isLoopbackHost } from './ip-address.ts'

/** A server that takes mail by SMTP. */
export interface SmtpServer {
  kind: 'smtp'
  host: string
  port: number
  /** `tls`: from the first byte. `starttls`: required before anything is sent. `plain`: to this machine only. */
  security: 'tls' | 'starttls' | 'plain'
  /** Null: the server asks for none. */
  login: { user: string; password: string } | null
}

/** A service that takes mail by its HTTP API. */
export interface MailService {
  kind: 'postmark' | 'resend'
  key: string
}

/**
 * Reads ROOKERY_MAIL_URL: `smtps://user:password@host`, `smtp://user:password@host`, `postmark://token` or
 * `resend://key`. Returns null when it is none of these.
 */
export function parseMailUrl(text: string): SmtpServer | MailService | null {
  const [, kind, key] = /^(postmark|resend):\/\/([\x21-\x7e]+)$/.exec(text) ?? []
  if (key !== undefined) return { kind: kind === 'postmark' ? kind : 'resend', key }
  if (!/^smtps?:\/\//.test(text) || !URL.canParse(text)) return null
  const url = new URL(text)
  const { protocol, hostname, port, pathname, search } = url
  const hasRest = (pathname !== '' && pathname !== '/') || search !== ''
  const login = readLogin(url)
  if (hostname === '' || hasRest || login === undefined) return null
  const isTls = protocol === 'smtps:'
  // A password is never sent in the clear.
  const isPlain = login === null && isLoopbackHost(hostname)
  const defaultPort = isTls ? 465 : 587
  return {
    kind: 'smtp',
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? defaultPort : Number(port),
    security: isTls ? 'tls' : isPlain ? 'plain' : 'starttls',
    login,
  }
}

/** Returns user and password; null without them, undefined when they are not whole. */
function readLogin({ username, password }: URL): SmtpServer['login'] | undefined {
  const user = decode(username)
  const secret = decode(password)
  if (user === null || secret === null || (user === '') !== (secret === '')) return undefined
  return user === '' ? null : { user, password: secret }
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

/** Reads ROOKERY_MAIL_FROM: `hub@example.com` or `Name <hub@example.com>`. Returns null when it is neither. */
export function parseSender(text: string): { name: string; address: string } | null {
  const [, name = '', bracketed] = /^([^<>]{0,60})<([^<>]+)>$/.exec(text.trim()) ?? []
  const address = bracketed ?? text.trim()
  const isName = !/["\p{Cc}\p{Zl}\p{Zp}]/u.test(name)
  const isAddress = /^[^\s\p{Cc}<>@"(),:;]+@[A-Za-z0-9.-]+$/u.test(address)
  return isName && isAddress ? { name: name.trim(), address } : null
}
