import type { FC } from 'hono/jsx'
import { type Access, type ApiTag, apiTags } from '../../hub/contract/api-tags'
import type { RouteSummary } from '../../hub/http/page-entry'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { formatExample } from './format-example'

export interface GroupPageProps {
  frame: Frame
  origin: string
  tag: ApiTag
  routes: RouteSummary[]
}

/** Who may call a route, by its access; `CallersNote` explains the words. */
export const callers: Record<Access, string> = {
  open: 'Anybody',
  read: 'Readers',
  own: 'Accounts',
  write: 'Accounts, to write',
  admin: 'Admins',
}

export const CallersNote: FC = () => (
  <>
    Readers are anybody, and on a private hub those with a key. Accounts need a key, and to write
    one with the scope <code>write</code>.
  </>
)

/** Returns the id of an operation on the page of its group. */
export const toOperationId = ({ method, path }: Pick<RouteSummary, 'method' | 'path'>): string =>
  `${method.toLowerCase()}${path.replace(/\W+/g, '-')}`

/** The operations of one group, each with an example. */
export const GroupPage: FC<GroupPageProps> = ({ frame, origin, tag, routes }) => (
  <Layout frame={frame} title={`${apiTags[tag]} · Docs`}>
    <p class="meta">
      <a class="ul" href="/docs#api">
        Docs
      </a>
    </p>
    <h1>{apiTags[tag]}</h1>
    <p class="lede">
      Examples show the fields that are always there;{' '}
      <a class="ul" href="/openapi.json">
        openapi.json
      </a>{' '}
      has all fields and limits. <CallersNote />
    </p>
    {routes
      .filter((route) => route.tag === tag)
      .map((route) => {
        const { request, answer } = formatExample(route, origin)
        return (
          <section class="block" id={toOperationId(route)}>
            <h2>
              <code>
                {route.method} {route.path}
              </code>
            </h2>
            <p class="up2">{route.summary}.</p>
            <p class="meta up2">{callers[route.access]}</p>
            <details class="up2">
              <summary>
                Example
                <span class="vh">
                  {' '}
                  of {route.method} {route.path}
                </span>
              </summary>
              <pre class="up2" tabindex={0}>
                {request}
              </pre>
              <pre class="up2" tabindex={0}>
                {answer}
              </pre>
            </details>
          </section>
        )
      })}
  </Layout>
)
