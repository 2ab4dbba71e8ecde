const base = 'https://hub.invalid'

/**
 * Returns a path of this hub to redirect to; `/` for the sign-in page or another site. The path is
 * checked as browsers resolve it: `/..//example.com` becomes `//example.com`, which is another site.
 */
export function toLocalPath(text: string | undefined): string {
  if (!text?.startsWith('/') || !URL.canParse(text, base)) return '/'
  const { origin, pathname, search, hash } = new URL(text, base)
  const isLocal = origin === base && !/^\/(\/|login(\/|$))/.test(pathname)
  return isLocal ? pathname + search + hash : '/'
}
