import { fetchErrors } from './guarded-fetch'

/**
 * Joins a base URL, a path and a query. A path with `..`, another host or encoded slashes is refused,
 * not normalized.
 *
 * @throws VALIDATION
 */
export function joinPath(base: URL, path: string, query: Record<string, string>): URL {
  const [pathname = '', search = ''] = splitOnce(path, '?')
  if (!isPlainPath(pathname)) throw fetchErrors.pathOutsideBase()
  const url = new URL(base)
  const root = `${base.pathname.replace(/(?<!\/)\/+$/, '')}/`
  url.pathname = `${root}${pathname.replace(/^\//, '')}`
  // Check the result too, since the URL parser can change a path that looks plain.
  if (url.origin !== base.origin || !url.pathname.startsWith(root)) {
    throw fetchErrors.pathOutsideBase()
  }
  url.search = search
  for (const [name, value] of Object.entries(query)) url.searchParams.append(name, value)
  return url
}

function splitOnce(text: string, mark: string): [string, string] {
  const at = text.indexOf(mark)
  return at === -1 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)]
}

/** Whether a path stays below the base, also when a server decodes it twice. */
function isPlainPath(path: string): boolean {
  const once = decodePercent(path)
  if (once === null) throw fetchErrors.invalidEscape()
  return !/[\s#]/.test(path) && ![path, once, decodeAgain(once)].some(hasTrick)
}

/** Decodes a decoded path again. It can contain a plain %, so each escape is decoded on its own. */
const decodeAgain = (text: string): string =>
  text.replace(/%([0-9a-f]{2})/gi, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  )

const hasTrick = (path: string): boolean =>
  /\\|\/\/|[\r\n\0]/.test(path) || path.split('/').some((part) => /^\.{1,2}(;.*)?$/.test(part))

/** Decodes percent escapes; null: one of them is invalid. */
export function decodePercent(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}
