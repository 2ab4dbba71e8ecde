import * as z from 'zod'
import { AppError } from '../../errors'
import type { Resolve } from './guarded-fetch'

const answer = z.object({
  Answer: z.array(z.object({ type: z.number(), data: z.string() })).default([]),
})

/** Types of DNS records that hold an address: A and AAAA. */
const addressTypes = [1, 28]

/**
 * Asks a resolver that answers `application/dns-json`, as Cloudflare's and Google's do.
 *
 * @throws UNAVAILABLE when it does not answer: what is not known to be public is not asked
 */
export const createResolver =
  (endpoint: string): Resolve =>
  async (hostname, signal) => {
    // An address needs no look-up; it was checked as it stands.
    if (hostname.startsWith('[')) return [hostname.slice(1, -1)]
    if (/^[\d.]+$/.test(hostname)) return [hostname]
    const url = new URL(endpoint)
    url.searchParams.set('name', hostname)
    const look = addressTypes.map((type) => lookUp(url, type, signal))
    const found = await Promise.all(look).catch((cause: unknown) => {
      const message = `The resolver ${url.host} does not say where ${hostname} is.`
      throw new AppError('UNAVAILABLE', message, { hint, cause })
    })
    return found
      .flat()
      .filter(({ type }) => addressTypes.includes(type))
      .map(({ data }) => data)
  }

const hint =
  'It may work later. Else an admin sets ROOKERY_DNS_OVER_HTTPS to a resolver that this hub reaches, or to off.'

async function lookUp(resolver: URL, type: number, signal: AbortSignal) {
  const url = new URL(resolver)
  url.searchParams.set('type', String(type))
  const response = await fetch(url, { headers: { accept: 'application/dns-json' }, signal })
  if (!response.ok) {
    await response.body?.cancel()
    throw new Error(`answered ${response.status}`)
  }
  return answer.parse(await response.json()).Answer
}
