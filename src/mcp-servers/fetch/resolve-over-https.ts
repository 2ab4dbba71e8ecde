import * as z from 'zod'
import { outside } from '../../shared/config'
import { truncateBody } from '../../shared/cut-text'
import type { Resolve } from './guarded-fetch'
import { fetchErrors } from './guarded-fetch'

const answer = z.object({
  Answer: z.array(z.object({ type: z.number(), data: z.string() })).default([]),
})

/** Types of DNS records that hold an address: A and AAAA. */
const addressTypes = [1, 28]

/**
 * Creates a resolver over HTTPS that uses `application/dns-json`, as Cloudflare and Google offer.
 *
 * @throws UNAVAILABLE when the lookup fails, so that a host of unknown address is not requested
 */
export const createResolver =
  (endpoint: string): Resolve =>
  async (hostname, signal) => {
    // An address needs no lookup; it was checked already.
    if (hostname.startsWith('[')) return [hostname.slice(1, -1)]
    if (/^[\d.]+$/.test(hostname)) return [hostname]
    const url = new URL(endpoint)
    url.searchParams.set('name', hostname)
    const lookups = addressTypes.map((type) => lookUp(url, type, signal))
    const found = await Promise.all(lookups).catch((cause: unknown) => {
      throw fetchErrors.dnsFailed(hostname, url.host, cause)
    })
    return found
      .flat()
      .filter(({ type }) => addressTypes.includes(type))
      .map(({ data }) => data)
  }

async function lookUp(resolver: URL, type: number, signal: AbortSignal) {
  const url = new URL(resolver)
  url.searchParams.set('type', String(type))
  const response = await fetch(url, { headers: { accept: 'application/dns-json' }, signal })
  if (!response.ok) {
    await response.body?.cancel()
    throw new Error(`answered ${response.status}`)
  }
  return answer.parse(await truncateBody(response, outside.lookupBytesMax).json()).Answer
}
