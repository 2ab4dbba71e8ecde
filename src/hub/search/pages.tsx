import type { Hono } from 'hono'
import { limits } from '../../config'
import type { SearchHit } from '../contract'
import { readCursor } from '../cursor'
import type { HubEnv } from '../http/hub-env'
import { page, readPage, rowsOf, sendPage } from '../web/answer-page'
import { type HitRow, hitTypes, selectHits } from './queries'
import { SearchPage } from './search-page'
import { toMatchExpression } from './search-terms'
import { toHit } from './to-hit'

/** Registers `GET /search?q=&type=&cursor=`. Input without any word finds nothing. */
export function registerSearchPages(app: Hono<HubEnv>): void {
  app.get(
    '/search',
    page(async (c) => {
      const text = (c.req.query('q') ?? '').slice(0, limits.search.queryCharsMax)
      const only = hitTypes.find((type) => type === c.req.query('type')) ?? null
      const cursor = readCursor(c.req.query('cursor'))
      const offset = typeof cursor === 'number' ? cursor : 0
      const expression = toMatchExpression(text, 'all')
      const shown = limits.search.resultsDefault
      const read = await readPage(
        c,
        expression
          ? [selectHits(c.var.context.db, filterOf(expression, only, offset, shown + 1))]
          : [],
      )
      const hits = rowsOf<HitRow>(read, 0).map(toHit)
      return sendPage(
        c,
        <SearchPage
          frame={read.frame}
          text={text}
          type={only}
          hits={hits.slice(0, shown)}
          next={hits.length > shown ? offset + shown : null}
        />,
      )
    }),
  )
}

const filterOf = (
  expression: string,
  only: SearchHit['type'] | null,
  offset: number,
  limit: number,
) => ({
  expression,
  types: only ? [only] : hitTypes,
  community: null,
  author: null,
  exceptPostId: null,
  questionsLastFor: null,
  limit,
  offset,
})
