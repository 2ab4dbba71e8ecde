/** Returns a path of this hub to redirect to; `/` for the sign-in page or another site. */
export function toLocalPath(text: string | undefined): string {
  if (!text?.startsWith('/') || text.startsWith('/login')) return '/'
  const base = 'https://hub.invalid'
  const url = URL.canParse(text, base) ? new URL(text, base) : null
  return url?.origin === base ? url.pathname + url.search + url.hash : '/'
}
