import { AppError } from '../../errors'
import { decodePercent } from '../fetch/decode-percent'

/**
 * A path below a service's base URL, and nowhere else: `..`, another host and tricks with encoded
 * slashes are refused instead of repaired.
 */
export function joinPath(base: URL, path: string, query: Record<string, string>): URL {
  const [pathname = '', search = ''] = splitOnce(path, '?')
  if (!isPlainPath(pathname)) throw leadsElsewhere()
  const url = new URL(base)
  const root = `${base.pathname.replace(/\/+$/, '')}/`
  url.pathname = `${root}${pathname.replace(/^\//, '')}`
  // Whatever a URL makes of a path that looks plain.
  if (url.origin !== base.origin || !url.pathname.startsWith(root)) throw leadsElsewhere()
  url.search = search
  for (const [name, value] of Object.entries(query)) url.searchParams.append(name, value)
  return url
}

function splitOnce(text: string, mark: string): [string, string] {
  const at = text.indexOf(mark)
  return at === -1 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)]
}

/** Decoded twice, as a careless server might. */
function isPlainPath(path: string): boolean {
  const once = decodePercent(path)
  if (once === null) throw notDecodable()
  return !/[\s#]/.test(path) && ![path, once, decodeAgain(once)].some(hasTrick)
}

/** What was decoded once may hold a % of its own, so each code is read for itself. */
const decodeAgain = (text: string): string =>
  text.replace(/%([0-9a-f]{2})/gi, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  )

const hasTrick = (path: string): boolean =>
  /\\|\/\/|[\r\n\0]/.test(path) || path.split('/').some((part) => /^\.{1,2}(;.*)?$/.test(part))

const leadsElsewhere = (): AppError =>
  new AppError('VALIDATION', 'The path must lead to something below the base URL.', {
    hint: 'Write it like /items/7, without "..", "//", "\\" or "#"; parameters go into query.',
  })

const notDecodable = (): AppError =>
  new AppError('VALIDATION', 'The path does not decode.', {
    hint: 'Each % begins the code of a character in UTF-8, like %20; the sign itself is %25.',
  })
