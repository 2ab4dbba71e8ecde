import { AppError } from '../../errors'

/**
 * A path below a service's base URL, and nowhere else: `..`, another host and tricks with encoded
 * slashes are refused instead of repaired.
 */
export function joinPath(base: URL, path: string, query: Record<string, string>): URL {
  const [pathname = '', search = ''] = splitOnce(path, '?')
  if (!isPlainPath(pathname)) {
    throw new AppError('VALIDATION', 'The path must lead to something below the base URL.', {
      hint: 'Write it like /items/7, without "..", "//", "\\" or "#"; parameters go into query.',
    })
  }
  const url = new URL(base)
  url.pathname = `${base.pathname.replace(/\/+$/, '')}/${pathname.replace(/^\//, '')}`
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
  const once = decode(path)
  return !/[\s#]/.test(path) && ![path, once, decode(once)].some(hasTrick)
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

const hasTrick = (path: string): boolean =>
  /\\|\/\/|[\r\n\0]/.test(path) || path.split('/').some((part) => /^\.{1,2}(;.*)?$/.test(part))
