/**
 * Returns the content of each element with a tag, for the XML of S3: elements without attributes. Text is
 * escaped there, so a key that looks like an element is not matched.
 */
export function readTags(xml: string, tag: string): string[] {
  const open = `<${tag}>`
  const close = `</${tag}>`
  const found: string[] = []
  for (let at = xml.indexOf(open); at !== -1; at = xml.indexOf(open, at + 1)) {
    const end = xml.indexOf(close, at)
    if (end === -1) break
    found.push(xml.slice(at + open.length, end))
  }
  return found
}

/** Returns the text of the first element with a tag; empty when there is none. */
export const readTag = (xml: string, tag: string): string => toText(readTags(xml, tag)[0] ?? '')

const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

const toText = (text: string): string =>
  text.replace(
    /&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(amp|lt|gt|quot|apos));/gi,
    (_, hex, code, name) => {
      if (name !== undefined) return entities[name] ?? ''
      const point = hex === undefined ? Number(code) : Number.parseInt(hex, 16)
      return point <= 0x10ffff ? String.fromCodePoint(point) : ''
    },
  )
