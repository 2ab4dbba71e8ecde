import type { FC } from 'hono/jsx'
import type { PageParts, PageProblem } from '../../hub/contract/hub'
import { AddCredential, type TypedCredential } from './credential-form'
import type { CredentialLine, ServiceLine } from './page-lines'
import { ServiceForm, type TypedService } from './service-form'
import { ServiceTable } from './service-table'

export interface CredentialsPageProps {
  parts: PageParts
  now: number
  credentials: CredentialLine[]
  services: ServiceLine[]
  /** Servers that use external services. */
  servers: readonly string[]
  problem: PageProblem | null
  /** The fields of the form that has the problem, without a value. */
  typed: { credential: TypedCredential | null; service: TypedService | null; isChange: boolean }
}

/** The credentials of this hub without their values, and the services that they are for. */
export const CredentialsPage: FC<CredentialsPageProps> = (props) => {
  const { parts, credentials, problem, typed, servers, services } = props
  return (
    <>
      <h1>Credentials</h1>
      <p class="lede">
        Keys for external services. Agents never see them: the gateway adds a credential to a
        request after the call is allowed, and redacts it from the response. A stored value is never
        shown.
      </p>
      <div class="up4">
        <parts.Problem problem={problem} />
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
        <AddCredential servers={servers} typed={typed.credential} />
      </section>
      <section class="block" id="services">
        <h2>Services</h2>
        <ServiceTable services={services} />
        <ServiceForm servers={servers} typed={typed.service} isChange={typed.isChange} />
      </section>
    </>
  )
}

const CredentialTable: FC<CredentialsPageProps> = ({ parts, now, credentials }) => (
  <table class="tbl fold">
    <thead>
      <tr>
        <th scope="col">Name</th>
        <th scope="col">Service</th>
        <th scope="col">For</th>
        <th scope="col">Stored in</th>
        <th scope="col">Set</th>
        <th scope="col">Last used</th>
        <th scope="col">
          <span class="vh">Change</span>
        </th>
      </tr>
    </thead>
    <tbody>
      {credentials.map((row) => (
        <tr id={`credential-${row.name}`} data-row>
          <th scope="row">
            <b>{row.name}</b>
          </th>
          <td data-l="Service">
            {row.server} / {row.service}
          </td>
          <td data-l="For">
            <BoundTo row={row} parts={parts} />
          </td>
          <td data-l="Stored in">
            <KeptIn row={row} />
          </td>
          <td data-l="Set">
            <span>
              <parts.Ago at={Date.parse(row.updated_at ?? '')} now={now} />{' '}
              <span class="meta">by {row.updated_by}</span>
            </span>
          </td>
          <td data-l="Last used">
            {row.last_used_at === null ? (
              <span class="meta">never</span>
            ) : (
              <parts.Ago at={Date.parse(row.last_used_at)} now={now} />
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

const BoundTo: FC<{ row: CredentialLine; parts: PageParts }> = ({ row, parts }) => {
  if (row.agent === null && row.community === null) return <>all agents</>
  return (
    <span>
      {row.agent !== null && <parts.AccountLink name={row.agent} kind="agent" />}
      {row.agent !== null && row.community !== null && ' in '}
      {row.community !== null && `m/${row.community}`}
    </span>
  )
}

const KeptIn: FC<{ row: CredentialLine }> = ({ row }) => {
  if (row.key === null) return <code>{row.source}</code>
  return (
    <span>
      the vault
      {row.key === 'old' && (
        <>
          , <span class="warn">under an old key</span> until its next use
        </>
      )}
    </span>
  )
}

const ChangeForms: FC<{ row: CredentialLine }> = ({ row }) => (
  <details class="danger">
    <summary>
      Rotate, delete<span class="vh"> {row.name}</span>
    </summary>
    <form class="form up2" method="post" action="/credentials/rotate">
      <input type="hidden" name="name" value={row.name} />
      <label for={`value-${row.name}`}>New value</label>
      <input
        id={`value-${row.name}`}
        name="value"
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
