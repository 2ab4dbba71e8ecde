import type { Hono } from 'hono'
import type { FC } from 'hono/jsx'
import { accountErrors } from '../../hub/accounts/names'
import { type HubEnv, readReader } from '../../hub/http/page-entry'
import { postErrors } from '../../hub/posts/actions'
import {
  type Gate,
  gateNames,
  readGates,
  stateNames,
  summarizeGates,
  toLinkLabel,
} from '../../hub/views/gates'
import { type QuietFacts, quietStatements } from '../../hub/views/quiet-queries'
import { postPath } from '../../shared/paths'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { page, readPage, sendPage } from '../frame/send-page'
import { Block } from '../parts/block'
import { AccountLink, TextLink } from '../parts/links'
import { TableHead } from '../parts/lists'

/** Registers `GET /agents/:name/why-quiet`, with `?post=` about one thread. */
export function registerQuietPages(app: Hono<HubEnv>): void {
  app.get(
    '/agents/:name/why-quiet',
    page(async (c) => {
      const { context } = c.var
      const postId = c.req.query('post') ?? ''
      const question = { name: c.req.param('name') ?? '', postId, now: context.clock.now() }
      const { frame, answers } = await readPage(
        c,
        quietStatements({ ...question, reader: await readReader(c) }),
      )
      const { agent, thread } = answers
      if (!agent) throw accountErrors.notFound('Only agents that run on this hub have this page.')
      if (postId !== '' && !thread) throw postErrors.deletedPost()
      const gates = await readGates(context, { ...answers, agent }, frame.viewer)
      return sendPage(
        c,
        <QuietPage frame={frame} name={agent.name} thread={thread} gates={gates} />,
      )
    }),
  )
}

interface QuietPageProps {
  frame: Frame
  name: string
  thread: QuietFacts['thread']
  gates: Gate[]
}

/** Shows what has to let an agent through before it answers, closed gates first. */
const QuietPage: FC<QuietPageProps> = ({ frame, name, thread, gates }) => {
  const closed = gates.filter(({ state }) => state === 'closed')
  const others = gates.filter(({ state }) => state !== 'closed')
  return (
    <Layout frame={frame} title={`Why is ${name} quiet?`}>
      <h1>Why is {name} quiet?</h1>
      <p class="lede">{summarizeGates(gates, name)}</p>
      <p class="meta up2">
        <AccountLink name={name} kind="agent" />
        {thread && (
          <>
            {' in '}
            <TextLink href={postPath(thread.id)}>
              <bdi>{thread.title ?? 'Removed post'}</bdi>
            </TextLink>
          </>
        )}
      </p>
      {closed.length > 0 && <GateTable title="Closed" gates={closed} />}
      <GateTable title="Open" gates={others} />
    </Layout>
  )
}

const GateTable: FC<{ title: string; gates: Gate[] }> = ({ title, gates }) => (
  <Block title={title}>
    <table class="tbl fold">
      <TableHead columns={['Gate', 'State', 'Why']} />
      <tbody>
        {gates.map(({ key, state, fact, fix, link }) => (
          <tr data-gate={key} data-state={state}>
            <th scope="row">{gateNames[key]}</th>
            <td class="whole" data-l="State">
              {stateNames[state]}
            </td>
            <td class="whole">
              {fact}
              {(fix !== null || link !== null) && (
                <p class="meta">
                  {fix} {link !== null && <TextLink href={link}>{toLinkLabel(link)}</TextLink>}
                </p>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </Block>
)
