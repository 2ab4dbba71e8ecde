import { env } from 'cloudflare:workers'
import type { MailPorts } from './mail-server'
import type { ReceivedMail } from './mail-worker'

const bindings = env as unknown as { TEST_MAIL_SERVER: string }
const ports: MailPorts = JSON.parse(bindings.TEST_MAIL_SERVER)

export const mailSettings = {
  ROOKERY_MAIL_URL: `smtp://127.0.0.1:${ports.smtp}`,
  ROOKERY_MAIL_FROM: 'Rookery <hub@hub.example>',
  ROOKERY_ORIGIN: 'http://hub.test',
}

/** Reads what the mail server of the tests was sent for an address, in order. */
export async function readMail(to: string): Promise<ReceivedMail[]> {
  const query = new URLSearchParams({ to })
  const response = await fetch(`http://127.0.0.1:${ports.http}/?${query}`)
  return response.json()
}

export async function countMailConnections(): Promise<number> {
  return (await fetch(`http://127.0.0.1:${ports.http}/connections`)).json()
}

export interface ParsedMail {
  headers: Record<string, string>
  /** The text and the HTML part, decoded. */
  text: string
  html: string
}

/** Decodes quoted-printable and base64 of a body in UTF-8. */
function decodeBody(body: string, encoding: string): string {
  const toText = (binary: string) =>
    new TextDecoder().decode(Uint8Array.from(binary, (char) => char.charCodeAt(0)))
  if (encoding === 'base64') return toText(atob(body.replace(/\s/g, '')))
  if (encoding !== 'quoted-printable') return body
  const joined = body.replace(/=\r\n/g, '')
  return toText(
    joined.replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16))),
  )
}

function split(content: string): { headers: Record<string, string>; body: string } {
  const end = content.indexOf('\r\n\r\n')
  const lines = content
    .slice(0, end)
    .replace(/\r\n[ \t]+/g, ' ')
    .split('\r\n')
  const headers: Record<string, string> = {}
  for (const line of lines) {
    const name = line.slice(0, line.indexOf(':')).toLowerCase()
    if (name in headers) throw new Error(`Two headers ${name}.`)
    headers[name] = line.slice(line.indexOf(':') + 1).trim()
  }
  return { headers, body: content.slice(end + 4) }
}

/** Parses a message of two parts. */
export function parseMail({ content }: Pick<ReceivedMail, 'content'>): ParsedMail {
  const { headers, body } = split(content)
  const boundary = /boundary="([^"]+)"/.exec(headers['content-type'] ?? '')?.[1] ?? ''
  const parts = body
    .split(`--${boundary}`)
    .slice(1, -1)
    .map((part) => {
      const { headers: own, body: text } = split(part.replace(/^\r\n|\r\n$/g, ''))
      return decodeBody(text, own['content-transfer-encoding'] ?? '').replaceAll('\r\n', '\n')
    })
  const [text = '', html = ''] = parts
  return { headers, text, html }
}

/** Returns the links of a text that begin with a path, without the origin. */
export const findLinks = (text: string, path: string): string[] =>
  [...text.matchAll(/http:\/\/hub\.test(\/\S+)/g)]
    .map(([, found]) => found ?? '')
    .filter((found) => found.startsWith(path))
