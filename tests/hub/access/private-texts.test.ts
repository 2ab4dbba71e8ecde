import { beforeAll, expect, test } from 'vitest'
import { sample } from '../../support/sample'
import { apiTable } from './api-table'
import { readName, type Table } from './cells'
import { canaries } from './contents'
import { createWorld, type World } from './create-world'
import { moduleTable } from './module-table'
import { pageTable } from './page-table'
import { type Caller, callers, findPrivateText } from './private-texts'

let world: World
beforeAll(async () => {
  world = await createWorld()
})

/** Filters and orders that show more than a list does by itself. */
const queries = ['', '?status=all&limit=100&sort=new&unread=false&include_comments=true&type=all']

/** Returns everything that a table's rows read, with paths of things that have a private text. */
async function listPaths(table: Table): Promise<string[]> {
  const paths: string[] = []
  for (const [name, row] of Object.entries(table)) {
    const { method, path } = readName(name)
    if (method !== 'GET' || path.startsWith('/live/')) continue
    const sent = (await row.send?.(world, 'nobody'))?.path ?? path
    paths.push(...queries.map((query) => (sent.includes('?') ? sent : sent + query)))
  }
  const others = [world.activationId, world.parkedId, world.ownRunId].flatMap((id) => [
    `/activations/${id}`,
    `/activations/${id}/events`,
    `/activations/${id}/otlp`,
  ])
  others.push('/audit/own-call')
  return [...new Set([...paths, ...others])]
}

const read = async (caller: Caller, path: string): Promise<string> => {
  const { column, owner } = caller
  const isApi = path.startsWith('/api/')
  const headers = isApi
    ? world.requesters.toHeaders(column, owner)
    : await world.requesters.toBrowserHeaders(column, owner)
  const request = new Request(`http://hub.test${path}`, { headers, redirect: 'manual' })
  const isOfModule =
    /^\/(credentials|models|tools\/remote)\b/.test(path) || modulePaths.includes(path)
  const response = await (isOfModule
    ? world.fetchModule(request, true)
    : world.fetchHub(request, true))
  return response.text()
}

const base = '/api/v1'
const modulePaths = Object.keys(moduleTable).map((name) => base + readName(name).path)

async function listAll(): Promise<string[]> {
  const found = ['CANARY', 'cellar', 'atrium', 'plums', 'message'].map(
    (word) => `/search?q=${word}`,
  )
  const api = [...(await listPaths(apiTable)), ...found]
  const modules = (await listPaths(moduleTable)).filter((path) => !path.includes('?'))
  return [
    ...[...api, ...modules].map((path) => base + path),
    ...(await listPaths(pageTable)),
    ...found,
  ]
}

test('M9 T2 H22 T21: no answer and no page shows a private text to those who may not see it', {
  timeout: 240_000,
}, async () => {
  const paths = await listAll()
  const problems: string[] = []
  const shown = new Map<string, Set<string>>()
  const alike = Map.groupBy(callers, ({ sees }) => sees.join())
  for (const [at, path] of paths.entries()) {
    // Those who see the same read every page in turns.
    for (const caller of [...alike.values()].flatMap((each) => sample(each, 1, at))) {
      const text = await read(caller, path)
      const problem = findPrivateText(world, caller, text)
      if (problem) problems.push(`${caller.column} of ${caller.owner}: GET ${path}\n  ${problem}`)
      for (const name of caller.sees) {
        if (!text.includes(canaries[name])) continue
        shown.set(name, (shown.get(name) ?? new Set()).add(path))
      }
    }
  }
  expect(problems.join('\n')).toBe('')
  // The search covers the places of these texts: their owners read them there.
  const places = [...shown.keys()].sort()
  expect(places).toEqual([
    'approval',
    'atrium',
    'audit',
    'cellar',
    'definition',
    'dm',
    'request',
    'session',
    'trace',
  ])
  expect(paths.length).toBeGreaterThan(100)
})
