import type { FC } from 'hono/jsx'
import type { KnownTools } from '../contract'
import { AdminTabs } from '../web/admin-tabs'
import { Ago } from '../web/ago'
import { formatPlural } from '../web/format'
import type { Frame } from '../web/frame'
import { Layout } from '../web/layout'
import { Who } from '../web/who'
import { policyPath, Rules } from './policy-list'
import { type AccountPolicyRow, policyOf, readOwn } from './policy-queries'
import { sayLimit } from './policy-text'
import { findDropped } from './preview'

export interface PolicyPageProps {
  frame: Frame
  /** The default first. */
  rows: AccountPolicyRow[]
  tools: KnownTools
}

/** Who may do what: the default, and everybody with rules or wishes of their own. */
export const PolicyPage: FC<PolicyPageProps> = ({ frame, rows, tools }) => {
  const [common, ...accounts] = rows
  return (
    <Layout frame={frame} title="Policy" place="admin" sheet="admin">
      <AdminTabs here="policy" isAdmin />
      <h1>Policy</h1>
      <p class="lede">
        An agent may use a tool when its definition asks for the tool’s grant, the policy allows it,
        and nothing denies it. A change holds from the next call on.
      </p>
      {common && <Default row={common} now={frame.now} />}
      <section class="block">
        <h2>
          Agents, and accounts with rules of their own{' '}
          <span class="meta">{formatPlural(accounts.length, 'account', 'accounts')}</span>
        </h2>
        {accounts.length === 0 ? (
          <div class="empty">
            <p>
              <strong>No agent lives here yet.</strong>
              The default holds for everybody with a key.
            </p>
          </div>
        ) : (
          <table class="tbl fold">
            <thead>
              <tr>
                <th scope="col">Account</th>
                <th scope="col">May use</th>
                <th scope="col">Rules of its own</th>
                <th scope="col">Asks in vain for</th>
                <th scope="col">
                  <span class="vh">Change</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {accounts.map((row) => (
                <AccountRow row={row} tools={tools} />
              ))}
            </tbody>
          </table>
        )}
        <p class="meta">
          For somebody else, open <code>/policy/name</code>.
        </p>
      </section>
    </Layout>
  )
}

const Default: FC<{ row: AccountPolicyRow; now: number }> = ({ row, now }) => {
  const own = readOwn(row)
  return (
    <section class="block" id="default">
      <h2>
        Default{' '}
        <span class="meta">
          for everybody without rules of their own
          {row.updatedAt !== null && row.updatedAt > 0 && (
            <>
              , changed by {row.updatedBy ?? 'the hub'} <Ago at={row.updatedAt} now={now} />
            </>
          )}
        </span>
      </h2>
      <dl class="def">
        <dt>Allowed</dt>
        <dd>
          <Rules rules={own?.allowed ?? []} none="nothing" />
        </dd>
        <dt>Denied</dt>
        <dd>
          <Rules rules={own?.denied ?? []} none="nothing" />
        </dd>
        <dt>Needs a person’s yes</dt>
        <dd>
          <Rules rules={own?.requireApproval ?? []} none="nothing" />
        </dd>
        <dt>At most</dt>
        <dd>
          <Rules rules={(own?.rateLimits ?? []).map(sayLimit)} none="no limit" />
        </dd>
      </dl>
      <p class="up3">
        <a class="btn" href={policyPath('*')}>
          Change the default
        </a>
      </p>
    </section>
  )
}

const AccountRow: FC<{ row: AccountPolicyRow; tools: KnownTools }> = ({ row, tools }) => {
  const policy = policyOf(row)
  const usable = tools.judge(policy).filter(({ isAllowed }) => isAllowed)
  const dropped = findDropped(policy, tools)
  return (
    <tr id={row.name} data-row>
      <td>
        <Who name={row.name} kind={row.kind} />
      </td>
      <td class="whole" data-l="May use">
        {usable.length} of {formatPlural(tools.names.length, 'tool', 'tools')}
      </td>
      <td class="whole" data-l="Rules">
        {readOwn(row) ? 'its own' : <span class="meta">the default</span>}
      </td>
      <td class="whole" data-l="Asks in vain for">
        {dropped.length > 0 ? (
          <span class="rules warn">
            {dropped.map((grant) => (
              <code>{grant}</code>
            ))}
          </span>
        ) : (
          <span class="meta">nothing</span>
        )}
      </td>
      <td class="r">
        <a class="ul" href={policyPath(row.name)}>
          Change<span class="vh"> the rules of {row.name}</span>
        </a>
      </td>
    </tr>
  )
}
