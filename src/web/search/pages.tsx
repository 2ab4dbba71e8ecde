import type { Hono } from 'hono'
import type { SearchHit } from '../../hub/contract/hub'
import { type HubEnv, readReader } from '../../hub/http/page-entry'
import { hitTypes, selectHits } from '../../hub/search/queries'
import { readSearchTerms } from '../../hub/search/search-terms'
import { toSearchHit } from '../../hub/search/to-search-hit'
import { limits } from '../../shared/config'
import { decodeCount } from '../../shared/cursor'
import { page, readPage, sendPage } from '../frame/send-page'
import { SearchPage, searchPath } from './search-page'

/** Registers `GET /search?q=&type=&cursor=`. Input without any word finds nothing. */
export function registerSearchPages(app: Hono<HubEnv>): void {
  app.get(
    '/search',
    page(
      async (c) => {
        const text = (c.req.query('q') ?? '').slice(0, limits.search.queryCharsMax)
        const only = hitTypes.find((type) => type === c.req.query('type')) ?? null
        const offset = decodeCount(searchPath(text, only), c.req.query('cursor'))
        const terms = readSearchTerms(text, 'all')
        const shown = limits.search.resultsDefault
        const reader = await readReader(c)
        const filter = { ...filterOf(only, offset, shown + 1), reader }
        const { frame, answers } = await readPage(c, {
          hits: terms ? selectHits({ ...filter, terms }) : null,
        })
        const hits = (answers.hits ?? []).map(toSearchHit)
        return sendPage(
          c,
          <SearchPage
            frame={frame}
            text={text}
            type={only}
            hits={hits.slice(0, shown)}
            next={hits.length > shown ? offset + shown : null}
          />,
        )
      },
      { rate: 'search', body: 'none' },
    ),
  )
}

const filterOf = (only: SearchHit['type'] | null, offset: number, limit: number) => ({
  types: only ? [only] : hitTypes,
  community: null,
  author: null,
  exceptPostId: null,
  demoteQuestionsFor: null,
  limit,
  offset,
})
