import * as z from 'zod'
import type { Resolve } from './guarded-fetch'

const answer = z.object({
  Answer: z.array(z.object({ type: z.number(), data: z.string() })).default([]),
})

/** Types of DNS records that hold an address: A and AAAA. */
const addressTypes = [1, 28]

/** Asks a resolver that answers `application/dns-json`, as Cloudflare's and Google's do. */
export const createResolver =
  (endpoint: string): Resolve =>
  async (hostname, signal) => {
    // An address needs no look-up; it was checked as it stands.
    if (hostname.startsWith('[')) return [hostname.slice(1, -1)]
    if (/^[\d.]+$/.test(hostname)) return [hostname]
    const found = await Promise.all(
      addressTypes.map(async (type) => {
        const url = new URL(endpoint)
        url.searchParams.set('name', hostname)
        url.searchParams.set('type', String(type))
        const response = await fetch(url, { headers: { accept: 'application/dns-json' }, signal })
        return answer.parse(await response.json()).Answer
      }),
    )
    return found
      .flat()
      .filter(({ type }) => addressTypes.includes(type))
      .map(({ data }) => data)
  }
