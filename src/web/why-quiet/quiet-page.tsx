import type { FC } from 'hono/jsx'
import { gateNames, stateNames, toLinkLabel } from '../../hub/why-quiet/gate-labels'
import type { Gate } from '../../hub/why-quiet/gate-view'
import { summarizeGates } from '../../hub/why-quiet/gates-view'
import type { QuietFacts } from '../../hub/why-quiet/queries'
import { postPath } from '../../shared/paths'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { AccountLink } from '../parts/account-link'
import { TableHead } from '../parts/table-head'

export interface QuietPageProps {
  frame: Frame
  name: string
  thread: QuietFacts['thread']
  gates: Gate[]
}

/** Shows what has to let an agent through before it answers, closed gates first. */
export const QuietPage: FC<QuietPageProps> = ({ frame, name, thread, gates }) => {
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
            <a class="ul" href={postPath(thread.id)}>
              <bdi>{thread.title ?? 'Removed post'}</bdi>
            </a>
          </>
        )}
      </p>
      {closed.length > 0 && <GateTable title="Closed" gates={closed} />}
      <GateTable title="Open" gates={others} />
    </Layout>
  )
}

const GateTable: FC<{ title: string; gates: Gate[] }> = ({ title, gates }) => (
  <section class="block">
    <h2>{title}</h2>
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
                  {fix}{' '}
                  {link !== null && (
                    <a class="ul" href={link}>
                      {toLinkLabel(link)}
                    </a>
                  )}
                </p>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </section>
)
