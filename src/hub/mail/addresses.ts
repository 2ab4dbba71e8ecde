import * as z from 'zod'
import { mailLimits } from '../../shared/config'

/** A mail address in the two forms that are stored. */
interface MailAddress {
  /** As mail is sent to it; its domain in ASCII. */
  address: string
  /** In lower case, to compare. */
  normalized: string
}

// RFC 5322, section 3.2.3, without quoted forms: servers that need them are gone, and they hide what an address says.
const localPart = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/
const hostLabel = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/

/** Reads a mail address that somebody typed. Returns null when nothing can be sent to it. */
function parseAddress(text: string): MailAddress | null {
  const trimmed = text.trim()
  if (trimmed.length > mailLimits.addressCharsMax) return null
  const at = trimmed.lastIndexOf('@')
  const local = trimmed.slice(0, at)
  const domain = at < 1 ? null : toAsciiDomain(trimmed.slice(at + 1))
  if (domain === null || local.length > 64 || !localPart.test(local)) return null
  const address = `${local}@${domain}`
  if (address.length > mailLimits.addressCharsMax) return null
  return { address, normalized: address.toLowerCase() }
}

/** Returns a domain in ASCII (IDNA); null for what is no domain of the internet. */
function toAsciiDomain(text: string): string | null {
  // What a URL would read as something else than a host.
  if (/[\s\p{Cc}/\\?#@:[\]%]/u.test(text) || !URL.canParse(`http://${text}`)) return null
  const domain = new URL(`http://${text}`).hostname
  const labels = domain.split('.')
  const top = labels.at(-1) ?? ''
  const isDomain = labels.length > 1 && labels.every((label) => hostLabel.test(label))
  return isDomain && !/^\d+$/.test(top) ? domain : null
}

const address = z
  .string()
  .max(mailLimits.addressCharsMax + 50)
  .transform((text, context) => {
    const parsed = parseAddress(text)
    if (parsed) return parsed
    context.addIssue({ code: 'custom', message: 'Must be a mail address, such as ana@example.com' })
    return z.NEVER
  })

/** A form with a mail address. */
export const addressInput = z.object({ address })

/** An optional address in another form; null for none. */
export const optionalAddress = z
  .string()
  .trim()
  .max(mailLimits.addressCharsMax + 50)
  .transform((text) => (text === '' ? null : text))
  .pipe(z.union([z.null(), address]))
