interface MediaRange {
  /** Such as `text/html`, `text/*` and `*` + `/*`, in lower case. */
  type: string
  /** 0: not acceptable, to 1. */
  quality: number
}

/** A request without the header accepts everything (RFC 9110, 12.5.1). */
const anything = '*/*'

const parseAccept = (header: string | null | undefined): MediaRange[] =>
  (header?.trim() || anything).split(',').flatMap((part) => {
    const [type = '', ...parameters] = part.split(';').map((each) => each.trim().toLowerCase())
    if (type === '') return []
    const given = parameters.find((each) => /^q\s*=/.test(each))?.replace(/^q\s*=\s*/, '')
    const quality = given === undefined ? 1 : Number(given || Number.NaN)
    return [{ type, quality: Number.isNaN(quality) ? 1 : Math.min(1, Math.max(0, quality)) }]
  })

/** Returns the range that says most about a media type: the type itself, else its kind, else anything. */
function findRange(ranges: readonly MediaRange[], type: string): MediaRange | undefined {
  const names = [type, `${type.split('/')[0]}/*`, anything]
  return names
    .map((name) => ranges.find((range) => range.type === name))
    .find((range) => range !== undefined)
}

/**
 * Returns whether an Accept header asks for a page rather than for JSON: it names HTML, and not after JSON.
 * Programs that take anything get JSON.
 */
export function prefersPage(header: string | null | undefined): boolean {
  const ranges = parseAccept(header)
  const [page, json] = [findRange(ranges, 'text/html'), findRange(ranges, 'application/json')]
  if (page === undefined || page.type === anything || page.quality === 0) return false
  if (json === undefined || json.quality !== page.quality)
    return page.quality > (json?.quality ?? 0)
  return json.type !== 'application/json' || ranges.indexOf(page) < ranges.indexOf(json)
}
