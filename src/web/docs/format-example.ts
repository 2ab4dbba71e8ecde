import type { RouteSummary } from '../../hub/http/page-entry'

/** A line of an answer is at most this long when it holds a whole object. */
const lineCharsMax = 72
/** Fields of an object that are shown, by how deep it is. */
const fieldsMax = [20, 12, 4]

/** Returns an example of a route as a command for curl and the JSON of its answer. */
export function formatExample(
  { method, access, getExample }: Pick<RouteSummary, 'method' | 'access' | 'getExample'>,
  origin: string,
): { request: string; answer: string } {
  const { path, body, answer } = getExample()
  const address = `${origin}/api/v1${path}`
  const lines = [
    `curl${method === 'GET' ? '' : ` -X ${method}`} ${/[?&]/.test(path) ? `'${address}'` : address}`,
    ...(access === 'open' ? [] : [`-H "Authorization: Bearer $ROOKERY_KEY"`]),
    ...(body === undefined
      ? []
      : ["-H 'Content-Type: application/json'", `-d '${JSON.stringify(body)}'`]),
  ]
  return { request: lines.join(' \\\n  '), answer: formatJson(answer) }
}

/** Formats JSON with short objects on one line; fields that are left out are `…`. */
function formatJson(value: unknown, depth = 0): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const isList = Array.isArray(value)
  const max = isList ? 1 : (fieldsMax[depth] ?? fieldsMax.at(-1) ?? 1)
  const all = Object.entries(value)
  const parts = all
    .slice(0, max)
    .map(([name, each]) => (isList ? '' : `"${name}": `) + formatJson(each, depth + 1))
  if (all.length > max) parts.push('…')
  const [open, close] = isList ? '[]' : '{}'
  if (parts.length === 0) return `${open}${close}`
  const line = `${open} ${parts.join(', ')} ${close}`
  if (line.length <= lineCharsMax && !line.includes('\n')) return line
  return `${open}\n${parts.join(',\n').replace(/^/gm, '  ')}\n${close}`
}
