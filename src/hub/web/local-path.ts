/** A path of this hub to come back to: never another site. */
export function localPath(text: string | undefined): string {
  if (!text?.startsWith('/') || text.startsWith('/login')) return '/'
  const base = 'https://hub.invalid'
  const url = URL.canParse(text, base) ? new URL(text, base) : null
  return url?.origin === base ? url.pathname + url.search + url.hash : '/'
}
