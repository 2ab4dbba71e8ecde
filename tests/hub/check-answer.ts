import { expect } from 'vitest'
import { apiRoutes } from '../../src/hub/app'
import type { DescribedRoute } from '../../src/hub/http/route'
import { adminRoutes } from '../../src/mcp-servers/admin/admin-routes'

const routes: DescribedRoute[] = [...adminRoutes, ...apiRoutes]

const patterns = routes.map((route) => ({
  route,
  pattern: new RegExp(`^${route.path.replace(/:\w+/g, '[^/]+')}$`),
}))

/** Checks that a page shows no object in the place of its name. Types do not: whatever a page contains is a text to them. */
export async function checkPage(response: Response): Promise<void> {
  if (!response.headers.get('content-type')?.startsWith('text/html')) return
  expect(await response.clone().text(), response.url).not.toContain('[object Object]')
}

/**
 * Checks a successful answer against the schema that its route declares: a field that the schema does
 * not have fails, too.
 *
 * @param path below `/api/v1`
 */
export function checkAnswer(method: string, path: string, status: number, body: unknown): void {
  const { pathname } = new URL(path, 'http://hub.test')
  const route = patterns.find(
    ({ route, pattern }) => route.method.toUpperCase() === method && pattern.test(pathname),
  )?.route
  if (!route || status < 200 || status > 299) return
  const title = `${method} ${route.path}`
  const { success, ...fields } = body as Record<string, unknown>
  if (!route.isBare) expect(success, title).toBe(true)
  expect([route.status, route.idleStatus], title).toContain(status)
  const answer = route.isBare ? body : fields
  const parsed = route.answer.safeParse(answer)
  expect(parsed.error?.issues ?? [], title).toEqual([])
  // Parsing removes unknown fields.
  expect(parsed.data, title).toEqual(answer)
}
