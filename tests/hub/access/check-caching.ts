/** Files that are the same for everybody. */
const publicPath = /^\/(assets\/[^/]+|favicon\.(svg|ico)|manifest\.webmanifest)$/

/** Paths with a secret in them or in their query. */
const secretPath = /^\/(join|claim)\/|^\/(login|connect-callback)/

/** What browsers do with files that depend on who asks: the picture of an account is for everybody who reads the hub. */
const fileCaching = [
  [/^\/media\/avatars\//, 'private, max-age=86400, immutable'],
  [/^\/media\/|\.atom$/, 'private, max-age=0, must-revalidate'],
] as const

/** Returns what is wrong with what an answer says to caches; null: nothing. */
export function findCachingProblem(request: Request, response: Response): string | null {
  if (response.status === 101) return null
  const { pathname } = new URL(request.url)
  const [said, vary] = ['cache-control', 'vary'].map((name) => response.headers.get(name) ?? '')
  const problem = (expected: string) =>
    `${request.method} ${pathname}: ${response.status} says "${said}", vary "${vary}"; expected ${expected}`
  if (publicPath.test(pathname) && response.ok) {
    return said?.startsWith('public, max-age=') ? null : problem('public')
  }
  const file = fileCaching.find(([path]) => path.test(pathname))
  if (file && response.ok) return said === file[1] ? null : problem(file[1])
  const hasCredential =
    request.headers.has('authorization') ||
    request.headers.has('x-api-key') ||
    /rookery_session/.test(request.headers.get('cookie') ?? '')
  const isPage = response.headers.get('content-type')?.startsWith('text/html') === true
  const mayStay = isPage && !hasCredential && !secretPath.test(pathname)
  if (said !== 'private, no-store' && !(mayStay && said === 'private, no-cache')) {
    return problem('private, no-store')
  }
  return /Cookie/.test(vary ?? '') && /Authorization/.test(vary ?? '') ? null : problem('vary')
}
