import { mcp } from '../../shared/config'

/**
 * Returns one page of tools, ordered by name. The cursor names the last tool of the previous page, so
 * that a change of the list between two pages skips and repeats none. Null: the cursor is invalid.
 */
export function paginateTools<Named extends { name: string }>(
  tools: Named[],
  cursor: string | undefined,
): { tools: Named[]; nextCursor?: string } | null {
  const after = cursor === undefined ? '' : readCursor(cursor)
  if (after === null) return null
  const rest = tools.filter(({ name }) => name > after).sort((a, b) => (a.name < b.name ? -1 : 1))
  const page = rest.slice(0, mcp.toolsPerPage)
  const last = page.at(-1)
  return rest.length > page.length && last
    ? { tools: page, nextCursor: btoa(`after:${last.name}`) }
    : { tools: page }
}

function readCursor(cursor: string): string | null {
  try {
    return /^after:([a-z0-9_]{1,64})$/.exec(atob(cursor))?.[1] ?? null
  } catch {
    return null
  }
}
