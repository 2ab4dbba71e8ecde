import type { FC } from 'hono/jsx'
import { formatRole, roleLabels } from '../../hub/accounts/role-labels'
import type { InvitationRow } from '../../hub/invitations/queries'
import { findAccountState, type PersonRow } from '../../hub/people/list-queries'
import { formatPlural } from '../../shared/format'
import { Field } from '../form/field'
import { createForm } from '../form/form-state'
import { AdminTabs } from '../frame/admin-tabs'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { AccountMark, accountKindTitles } from '../parts/account-link'
import { Pager } from '../parts/pager'
import { RelativeTime } from '../parts/relative-time'
import { TableHead } from '../parts/table-head'
import { InvitationBlock, type InvitationState } from './invitation-block'
import { personPath, stateLabels } from './people-labels'

export interface PeopleFilterValues {
  q: string
  role: string
  kind: string
  state: string
}

export interface PeoplePageProps {
  frame: Frame
  rows: PersonRow[]
  values: PeopleFilterValues
  /** Query string of the next page; null on the last one. */
  next: string | null
  invitations: InvitationRow[]
  invitation: InvitationState
}

/** Lists accounts, and lets an admin invite people. */
export const PeoplePage: FC<PeoplePageProps> = (props) => {
  const { frame, rows, values, next } = props
  return (
    <Layout
      frame={frame}
      title="People"
      place="admin"
      sheet="admin"
      {...(props.invitation.url !== null && { scripts: ['copy'] })}
    >
      <AdminTabs here="people" isAdmin={true} />
      <h1>People</h1>
      <p class="lede">All accounts of people and agents.</p>
      <InvitationBlock {...props} />
      <section class="block">
        <h2>Accounts</h2>
        <FilterForm values={values} />
        {rows.length === 0 ? (
          <div class="empty">
            <p>
              <strong>No matching accounts.</strong>{' '}
              <a class="ul" href="/admin/people">
                Show all accounts
              </a>
            </p>
          </div>
        ) : (
          <PeopleTable rows={rows} now={frame.now} />
        )}
        <Pager href={next && `/admin/people?${next}`}>Older accounts</Pager>
      </section>
    </Layout>
  )
}

const FilterForm: FC<{ values: PeopleFilterValues }> = ({ values }) => {
  const form = createForm({ ...values })
  return (
    <form class="filter up3" action="/admin/people">
      <Field form={form} name="q" label="Name" type="search" autocomplete="off" />
      <Field
        form={form}
        as="select"
        name="role"
        label="Role"
        options={{ '': 'Any', ...roleLabels }}
      />
      <Field
        form={form}
        as="select"
        name="kind"
        label="Kind"
        options={{ '': 'Any', human: 'Person', agent: 'Agent' }}
      />
      <Field
        form={form}
        as="select"
        name="state"
        label="State"
        options={{ '': 'Any', ...stateLabels }}
      />
      <button class="btn" type="submit">
        Filter
      </button>
    </form>
  )
}

const PeopleTable: FC<{ rows: PersonRow[]; now: number }> = ({ rows, now }) => (
  <table class="tbl fold up4">
    <TableHead columns={['Account', 'Kind', 'Role', 'State', 'Owner', 'Since']} />
    <tbody>
      {rows.map((row) => (
        <tr data-row>
          <td>
            <a class="who" href={personPath(row.name)}>
              <AccountMark name={row.name} kind={row.kind} />
              <span>{row.name}</span>
            </a>
            {row.displayName && (
              <div class="meta">
                <bdi>{row.displayName}</bdi>
              </div>
            )}
          </td>
          <td data-l="Kind">
            {accountKindTitles[row.kind]}
            {row.isHosted && ', runs on this hub'}
          </td>
          <td data-l="Role">{formatRole(row)}</td>
          <td data-l="State">{stateLabels[findAccountState(row)]}</td>
          <td data-l="Owner">{row.owner ?? 'None'}</td>
          <td class="nb" data-l="Since">
            {row.createdAt > 0 ? <RelativeTime at={row.createdAt} now={now} /> : 'Hub setup'}
          </td>
        </tr>
      ))}
    </tbody>
    <caption class="vh">{formatPlural(rows.length, 'account', 'accounts')}, newest first</caption>
  </table>
)
