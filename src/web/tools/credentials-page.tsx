import type { FC } from 'hono/jsx'
import type { CredentialSummary, ServiceSummary } from '../../mcp-servers/contract/tool-admin'
import { ErrorSummary } from '../form/error-summary'
import type { FormProblem } from '../form/form-state'
import { AccountLink } from '../parts/account-link'
import { RelativeTime } from '../parts/relative-time'
import { TableHead } from '../parts/table-head'
import { AddCredential } from './credential-form'
import { ServiceForm, type TypedService } from './service-form'
import { ServiceTable } from './service-table'

interface CredentialsPageProps {
  now: number
  credentials: CredentialSummary[]
  services: ServiceSummary[]
  /** Servers that use external services. */
  servers: readonly string[]
  problem: FormProblem | null
  /** The form for a new credential was rejected. */
  isAdding: boolean
  /** The submitted service, or the one to edit; null: an empty form. */
  service: TypedService | null
  /** The form edits an existing service. */
  isChange: boolean
}

/** The credentials of this hub without their values, and the services that they are for. */
export const CredentialsPage: FC<CredentialsPageProps> = (props) => {
  const { credentials, problem, servers, services } = props
  return (
    <>
      <h1>Credentials</h1>
      <p class="lede">
        Keys for external services. Agents never see them: the gateway adds a credential to a
        request after the call is allowed, and redacts it from the response. A stored value is never
        shown.
      </p>
      <div class="up4">
        <ErrorSummary problem={problem} />
      </div>
      <section class="block">
        <h2>Credentials</h2>
        {credentials.length === 0 ? (
          <div class="empty">
            <p>
              <strong>No credentials yet.</strong>
              Add one below, then grant an agent the tool that uses it.
            </p>
          </div>
        ) : (
          <CredentialTable {...props} />
        )}
        <AddCredential servers={servers} isRejected={props.isAdding} />
      </section>
      <section class="block" id="services">
        <h2>Services</h2>
        <ServiceTable services={services} />
        <ServiceForm servers={servers} typed={props.service} isChange={props.isChange} />
      </section>
    </>
  )
}

const CredentialTable: FC<CredentialsPageProps> = ({ now, credentials }) => (
  <table class="tbl fold">
    <TableHead
      columns={['Name', 'Service', 'For', 'Stored in', 'Set', 'Last used', { hidden: 'Change' }]}
    />
    <tbody>
      {credentials.map((row) => (
        <tr id={`credential-${row.name}`} data-row>
          <th scope="row">
            <b>{row.name}</b>
          </th>
          <td data-l="Service">
            {row.server} / {row.service}
            {row.destination !== null && <p class="meta">{row.destination}</p>}
          </td>
          <td data-l="For">
            <BoundTo row={row} />
          </td>
          <td data-l="Stored in">
            <StoredIn row={row} />
          </td>
          <td data-l="Set">
            <span>
              <RelativeTime at={Date.parse(row.updated_at ?? '')} now={now} />{' '}
              <span class="meta">by {row.updated_by}</span>
            </span>
          </td>
          <td data-l="Last used">
            {row.last_used_at === null ? (
              <span class="meta">never</span>
            ) : (
              <RelativeTime at={Date.parse(row.last_used_at)} now={now} />
            )}
          </td>
          <td class="whole">
            <ChangeForms row={row} />
          </td>
        </tr>
      ))}
    </tbody>
  </table>
)

const BoundTo: FC<{ row: CredentialSummary }> = ({ row }) => {
  if (row.agent === null && row.community === null) return <>all agents</>
  return (
    <span>
      {row.agent !== null && <AccountLink name={row.agent} kind="agent" />}
      {row.agent !== null && row.community !== null && ' in '}
      {row.community !== null && `m/${row.community}`}
    </span>
  )
}

const StoredIn: FC<{ row: CredentialSummary }> = ({ row }) => {
  if (row.key === null) return <code>{row.source}</code>
  return (
    <span>
      the vault
      {row.key === 'old' && (
        <>
          , <span class="warn">encrypted with an old key</span> until its next use
        </>
      )}
    </span>
  )
}

const ChangeForms: FC<{ row: CredentialSummary }> = ({ row }) => (
  <details class="danger">
    <summary>
      Rotate, delete<span class="vh"> {row.name}</span>
    </summary>
    <form class="form up2" method="post" action="/credentials/rotate">
      <input type="hidden" name="name" value={row.name} />
      <label for={`value-${row.name}`}>New value</label>
      <input
        id={`value-${row.name}`}
        name="new_value"
        type="password"
        autocomplete="off"
        spellcheck={false}
        required
      />
      <div class="acts">
        <button type="submit" class="btn">
          Save new value
        </button>
      </div>
    </form>
    <form class="up3" method="post" action="/credentials/delete">
      <input type="hidden" name="name" value={row.name} />
      <button type="submit" class="btn">
        Delete {row.name}
      </button>
    </form>
  </details>
)
