/** Returns the fields of the form with an action as a browser sends them, with none of its buttons. */
export function readFormFields(html: string, action: string): Record<string, string> {
  const start = html.indexOf(`action="${action}"`)
  const body = html.slice(start, html.indexOf('</form>', start))
  const fields: Record<string, string> = {}
  const pattern =
    /<input([^>]*)>|<textarea([^>]*)>([\s\S]*?)<\/textarea>|<select([^>]*)>([\s\S]*?)<\/select>/g
  for (const [, input, area, text = '', select, options = ''] of body.matchAll(pattern)) {
    const attributes = input ?? area ?? select ?? ''
    const name = readAttribute(attributes, 'name')
    if (name === null) continue
    if (area !== undefined) fields[name] = decode(text).replace(/^\n/, '')
    else if (select !== undefined) fields[name] = readSelected(options)
    else if (readAttribute(attributes, 'type') !== 'checkbox') {
      fields[name] = readAttribute(attributes, 'value') ?? ''
    } else if (/ checked\b/.test(attributes)) fields[name] = 'on'
  }
  // Browsers send line ends in another way.
  return Object.fromEntries(
    Object.entries(fields).map(([name, text]) => [name, text.replace(/\r?\n/g, '\r\n')]),
  )
}

function readSelected(options: string): string {
  const all = [...options.matchAll(/<option([^>]*)>/g)].map(([, attributes = '']) => attributes)
  const chosen = all.find((attributes) => / selected\b/.test(attributes)) ?? all[0] ?? ''
  return readAttribute(chosen, 'value') ?? ''
}

function readAttribute(attributes: string, name: string): string | null {
  const found = new RegExp(` ${name}="([^"]*)"`).exec(attributes)
  return found ? decode(found[1] ?? '') : null
}

const decode = (text: string): string =>
  text
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')
