import { flush, toPacket } from './packet-line'
import type { PushHead } from './read-push'

/** Returns an error that git prints with `remote:` before each line. */
export const refuseWithText = (status: number, message: string): Response =>
  new Response(`${message}\n`, {
    status,
    headers: { 'content-type': 'text/plain; charset=utf-8' },
  })

/** Returns an error in the answer to a request for objects, whose status git does not explain. */
export const refuseFetch = (message: string): Response =>
  new Response(toPacket(`ERR ${toLine(message)}`), {
    headers: { 'content-type': 'application/x-git-upload-pack-result' },
  })

/**
 * Returns the report of a push that changed nothing: with a status of its own git would print that status, and
 * "Everything up-to-date".
 */
export function refusePush({ commands, capabilities }: PushHead, message: string): Response {
  const line = toLine(message)
  const report = [
    toPacket(commands.length === 0 ? `unpack ${line}\n` : 'unpack ok\n'),
    ...commands.map(({ ref }) => toPacket(`ng ${ref} not allowed\n`)),
    flush,
  ].join('')
  const hasReport = capabilities.has('report-status') || capabilities.has('report-status-v2')
  return new Response(wrap(capabilities, line, hasReport ? report : ''), {
    headers: { 'content-type': 'application/x-git-receive-pack-result' },
  })
}

/** Puts message and report into the side band, in parts that fit the older kind of it too. */
function wrap(capabilities: PushHead['capabilities'], line: string, report: string): string {
  if (!capabilities.has('side-band-64k') && !capabilities.has('side-band')) return report
  const parts = report.match(/[\s\S]{1,300}/g) ?? []
  return [
    toPacket(`\x02Rookery: ${line}\n`),
    ...parts.map((part) => toPacket(`\x01${part}`)),
    flush,
  ].join('')
}

/** Shortens a message to one line, which also fits into a packet. */
const toLine = (message: string): string => message.replace(/\s+/g, ' ').trim().slice(0, 900)
