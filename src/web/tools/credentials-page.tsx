import type { Hono } from 'hono'
import type { FC } from 'hono/jsx'
import type { Sender } from '../../hub/contract/hub'
import type { HubEnv } from '../../hub/http/page-entry'
import type {
  CredentialFormErrors,
  CredentialFormField,
} from '../../mcp-servers/contract/credential-forms'
import type {
  CredentialSummary,
  ServiceInput,
  ServiceSummary,
  ToolAdminApi,
} from '../../mcp-servers/contract/tool-admin'
import { outside } from '../../shared/config'
import { Checkbox, ErrorSummary, Field, Submit } from '../form/fields'
import {
  createForm,
  type FormProblem,
  type FormState,
  isChecked,
  toCheckboxText,
  toLines,
} from '../form/form-state'
import { type PageContext, page } from '../frame/send-page'
import { Block } from '../parts/block'
import { AccountLink, TextLink } from '../parts/links'
import { TableHead } from '../parts/lists'
import { RelativeTime } from '../parts/times'
import { handleAdminForm, readAdminPage, sendAdminPage } from './admin-page'

interface Shown {
  problem: FormProblem | null
  status: number
  service: TypedService | null
  /** The form edits an existing service. */
  isChange: boolean
}

/**
 * Registers the page `/credentials` and its forms without a credential's value. The forms with a value
 * go to `credentialFormPaths` of mcp-servers, which redirects here.
 */
export function registerCredentialPages(app: Hono<HubEnv>, toolAdmin: ToolAdminApi): void {
  app.get(
    '/credentials',
    page((c) => show(c, toolAdmin, { problem: null, status: 200, service: null, isChange: false })),
  )
  app.post(
    '/credentials/services',
    page((c) => putService(c, toolAdmin)),
  )
  app.post(
    '/credentials/services/delete',
    page((c) =>
      removeBy(c, toolAdmin, async (field, admin) => {
        await toolAdmin.deleteService(admin, { server: field('server'), name: field('name') })
        return '/credentials#services'
      }),
    ),
  )
  app.post(
    '/credentials/delete',
    page((c) =>
      removeBy(c, toolAdmin, async (field, admin) => {
        await toolAdmin.deleteCredential(admin, field('name'))
        return '/credentials'
      }),
    ),
  )
}

async function show(c: PageContext, toolAdmin: ToolAdminApi, shown: Shown): Promise<Response> {
  const { frame, answers } = await readAdminPage(c, {
    credentials: await toolAdmin.selectCredentials(),
    services: toolAdmin.selectServices(),
  })
  const { credentials, services } = answers
  const selected = c.req.query('change')
  const changed = services.find(({ server, name }) => `${server}/${name}` === selected)
  const rejected = shown.problem ? null : toCredentialProblem(c.req.query())
  return sendAdminPage(c, {
    frame,
    title: 'Credentials',
    tab: 'credentials',
    status: shown.status,
    body: (
      <CredentialsPage
        now={frame.now}
        credentials={credentials}
        services={services}
        servers={toolAdmin.serviceServers}
        problem={shown.problem ?? rejected?.problem ?? null}
        isAdding={rejected?.isNew ?? false}
        service={shown.service ?? (changed ? toTyped(changed) : null)}
        isChange={shown.isChange || (shown.service === null && changed !== undefined)}
      />
    ),
  })
}

async function putService(c: PageContext, toolAdmin: ToolAdminApi): Promise<Response> {
  const toFields = (field: (name: string) => string) =>
    Object.fromEntries(serviceFields.map((name) => [name, field(name)])) as TypedService
  return handleAdminForm(c, {
    async submit(field, admin) {
      const typed = toFields(field)
      const place = { server: typed.server, name: typed.name.trim() }
      await toolAdmin.putService(admin, place, toServiceInput(typed))
      return `/credentials#service-${place.server}-${place.name}`
    },
    showAgain: (rejection, field) =>
      show(c, toolAdmin, {
        ...rejection,
        service: toFields(field),
        isChange: field('is_change') === 'yes',
      }),
  })
}

const removeBy = (
  c: PageContext,
  toolAdmin: ToolAdminApi,
  submit: (field: (name: string) => string, admin: Sender) => Promise<string>,
): Promise<Response> =>
  handleAdminForm(c, {
    submit,
    showAgain: (rejection) => show(c, toolAdmin, { ...rejection, service: null, isChange: false }),
  })

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
const CredentialsPage: FC<CredentialsPageProps> = (props) => {
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
      <Block title="Credentials">
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
      </Block>
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
        <Submit>Save new value</Submit>
      </div>
    </form>
    <form class="up3" method="post" action="/credentials/delete">
      <input type="hidden" name="name" value={row.name} />
      <Submit>Delete {row.name}</Submit>
    </form>
  </details>
)

interface AddCredentialProps {
  servers: readonly string[]
  /** The form was rejected. Its fields are never sent back, so they are empty again. */
  isRejected: boolean
}

/** The form for a new credential. It goes to mcp-servers, so that no value passes through a page. */
const AddCredential: FC<AddCredentialProps> = ({ servers, isRejected }) => (
  <details class="up4" {...(isRejected ? { open: true } : {})}>
    <summary>Add a credential</summary>
    {isRejected && <p class="meta">Nothing was saved. Enter all fields again.</p>}
    <form class="form wide up3" method="post" action="/credentials">
      <fieldset>
        <Text name="name" label="Name" hint="Lower case letters, digits and dashes." required />
        <div>
          <label for="credential-server">Server</label>
          <select id="credential-server" name="server">
            {servers.map((server) => (
              <option value={server} selected={server === 'http'}>
                {server}
              </option>
            ))}
          </select>
        </div>
        <Text
          name="service"
          label="Service"
          hint="A service listed below, such as github, aws or one that you added."
          required
        />
        <div>
          <label for="credential-value">Value</label>
          <input
            id="credential-value"
            name="value"
            type="password"
            maxlength={outside.credentialCharsMax}
            autocomplete="off"
            spellcheck={false}
            aria-describedby="credential-value-note"
            required
          />
          <p class="meta" id="credential-value-note">
            The secret, or env:ROOKERY_SECRET_NAME for a secret of the Worker.
          </p>
        </div>
        <Text name="agent" label="Agent" hint="Leave empty for all agents." />
        <Text name="community" label="Community" hint="Leave empty for all communities." />
      </fieldset>
      <div class="acts">
        <Submit isMain>Add credential</Submit>
      </div>
    </form>
  </details>
)

interface TextProps {
  name: 'name' | 'service' | 'agent' | 'community'
  label: string
  hint: string
  required?: boolean
}

const Text: FC<TextProps> = ({ name, label, hint, required = false }) => (
  <div>
    <label for={`credential-${name}`}>{label}</label>
    <input
      id={`credential-${name}`}
      name={name}
      maxlength={100}
      autocomplete="off"
      spellcheck={false}
      required={required}
      aria-describedby={`credential-${name}-note`}
    />
    <p class="meta" id={`credential-${name}-note`}>
      {hint}
    </p>
  </div>
)

type ErrorTexts = {
  [Field in CredentialFormField]: Record<CredentialFormErrors[Field], FormProblem>
}

const problem = (message: string, hint: string | null): FormProblem => ({ message, hint })

const nameRule = 'Use at most 40 lower case letters, digits and dashes, starting with a letter.'

const valueTexts: ErrorTexts['value'] = {
  INVALID: problem(
    'The value is not valid.',
    `Enter a credential of at most ${outside.credentialCharsMax} characters.`,
  ),
  TOO_SHORT: problem(
    'The value is too short.',
    'A credential has at least 8 characters. A shorter credential cannot be distinguished from other text, so it cannot be redacted from results.',
  ),
  NOT_ASCII: problem(
    'The value is not valid.',
    `A credential is at most ${outside.credentialCharsMax} characters of ASCII.`,
  ),
  FORMAT: problem(
    'The value does not have the format that its server requires.',
    'For aws: JSON with access_key_id, secret_access_key and region. For postgres: user:password, with at least 8 characters of password.',
  ),
  VARIABLE_PREFIX: problem(
    "The secret's name must start with ROOKERY_SECRET_.",
    'Other secrets of the Worker are for the hub itself.',
  ),
  NO_VARIABLE: problem(
    'The Worker has no secret of that name.',
    'Set it with `npx wrangler secret put`, or in the environment of `npm start`.',
  ),
  NO_VAULT_KEY: problem(
    'This hub has no vault key, so it cannot store credentials.',
    'Create a key with `openssl rand -base64 32`, set it as the secret ROOKERY_VAULT_KEY, and keep a copy.',
  ),
}

/** The texts of the forms with a credential's value, by field and error code. */
const errorTexts: ErrorTexts = {
  name: {
    INVALID: problem('The name is not valid.', nameRule),
    TAKEN: problem(
      'A credential with this name already exists.',
      'Rotate it in the list, or choose another name.',
    ),
    NOT_FOUND: problem('There is no such credential.', 'The credential may have been deleted.'),
  },
  server: {
    INVALID: problem('The server is not valid.', 'Choose a server from the list.'),
    NO_CREDENTIALS: problem('The server uses no credentials.', 'Choose a server from the list.'),
  },
  provider: {
    INVALID: problem('There is no such provider.', 'Choose a provider from the list.'),
  },
  service: { INVALID: problem('The service is not valid.', nameRule) },
  agent: {
    INVALID: problem('The agent is not valid.', 'Enter a name of at most 100 characters.'),
    NOT_FOUND: problem('There is no such agent.', 'Check the name of the agent.'),
  },
  community: {
    INVALID: problem('The community is not valid.', 'Enter a name of at most 100 characters.'),
    NOT_FOUND: problem('There is no such community.', 'The page /m lists all communities.'),
  },
  value: valueTexts,
  new_value: valueTexts,
  form: {
    UNAUTHORIZED: problem(
      'You were not signed in, so nothing was saved.',
      'Submit the form again.',
    ),
    FORBIDDEN: problem(
      'The form was rejected.',
      'Send it from a page of this hub, signed in as an admin with a key that has the scope "write".',
    ),
    TOO_LARGE: problem('The request is too large.', null),
    INTERNAL: problem('The credential was not saved because of an internal error.', 'Try again.'),
  },
}

interface CredentialProblem {
  problem: FormProblem
  /** The form was the one for a new credential. */
  isNew: boolean
}

/** Returns the problem that the query `?field=...&error=...` names; null: there is none. */
export function toCredentialProblem(query: Record<string, string>): CredentialProblem | null {
  const { field = '', error } = query
  if (error === undefined) return null
  const texts: Record<string, FormProblem> = isField(field) ? errorTexts[field] : {}
  const found = Object.hasOwn(texts, error) ? texts[error] : undefined
  return {
    problem: found ?? errorTexts.form.INTERNAL,
    isNew: found !== undefined && field !== 'new_value' && field !== 'form',
  }
}

const isField = (field: string): field is CredentialFormField => Object.hasOwn(errorTexts, field)

/** A service as form fields: one host or header a line. */
type ServiceField = (typeof serviceFields)[number]
type TypedService = Record<ServiceField, string>

const serviceFields = [
  'server',
  'name',
  'base_url',
  'credential',
  'headers',
  'hosts',
  'format',
  'allow_http',
  'allow_private',
] as const

const emptyService: TypedService = {
  server: 'http',
  name: '',
  base_url: '',
  credential: '',
  headers: '',
  hosts: '',
  format: 'json',
  allow_http: '',
  allow_private: '',
}

/** Converts a service to form fields. */
const toTyped = (line: ServiceSummary): TypedService => ({
  server: line.server,
  name: line.name,
  base_url: line.base_url,
  credential: line.credential ?? '',
  headers: Object.entries(line.headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n'),
  hosts: furtherHosts(line).join('\n'),
  format: line.format,
  allow_http: toCheckboxText(line.allow_http),
  allow_private: toCheckboxText(line.allow_private),
})

/** Returns the allowed hosts besides that of the base URL. */
function furtherHosts({ base_url, hosts }: ServiceSummary): string[] {
  const own = URL.canParse(base_url) ? new URL(base_url).host : ''
  return hosts.filter((host) => host !== own)
}

/** Converts form fields to a service to store. */
const toServiceInput = (typed: TypedService): ServiceInput => ({
  base_url: typed.base_url.trim(),
  credential: typed.credential.trim() || null,
  // Without headers, the built-in ones of the server apply.
  ...(typed.headers.trim() !== '' && { headers: readHeaders(typed.headers) }),
  hosts: toLines(typed.hosts),
  format: typed.format,
  allow_http: isChecked(typed.allow_http),
  allow_private: isChecked(typed.allow_private),
})

const readHeaders = (text: string): Record<string, string> =>
  Object.fromEntries(
    toLines(text).map((line) => {
      const at = line.indexOf(':')
      return at === -1 ? [line, ''] : [line.slice(0, at).trim(), line.slice(at + 1).trim()]
    }),
  )

/** Returns the path of the page with the form filled in for a service. */
const changePath = ({ server, name }: { server: string; name: string }): string =>
  `/credentials?change=${encodeURIComponent(`${server}/${name}`)}#add-service`

interface ServiceFormProps {
  servers: readonly string[]
  /** The submitted fields, or those of the service to edit; null: an empty form. */
  typed: TypedService | null
  isChange: boolean
}

const ServiceForm: FC<ServiceFormProps> = ({ servers, typed, isChange }) => {
  const start = typed ?? emptyService
  const form = createForm(start)
  return (
    <details class="up4" id="add-service" {...(typed ? { open: true } : {})}>
      <summary>{isChange ? `Change ${start.server} / ${start.name}` : 'Add a service'}</summary>
      <form class="form wide up3" method="post" action="/credentials/services">
        <fieldset>
          <Place form={form} servers={servers} isChange={isChange} />
          <ServiceText name="base_url" label="Base URL" form={form} required />
          <ServiceText
            name="credential"
            label="Credential"
            form={form}
            hint="Name of the credential. Leave empty if the service has only one."
          />
          <ServiceText
            name="headers"
            as="textarea"
            label="Headers"
            form={form}
            hint="One per line. {credential} is replaced: Authorization: Bearer {credential}"
          />
          <ServiceText
            name="hosts"
            as="textarea"
            label="Further hosts"
            form={form}
            hint="Hosts that the service redirects to, one per line. They never receive a credential."
          />
          <Options form={form} />
        </fieldset>
        <div class="acts">
          <Submit>{isChange ? 'Save' : 'Add service'}</Submit>
          {isChange && <TextLink href="/credentials#services">Cancel</TextLink>}
        </div>
      </form>
    </details>
  )
}

interface PartProps {
  form: FormState<ServiceField>
}

const Place: FC<PartProps & { servers: readonly string[]; isChange: boolean }> = (props) => {
  const { form, servers, isChange } = props
  if (isChange) {
    return (
      <>
        <input type="hidden" name="server" value={form.typed.server} />
        <input type="hidden" name="name" value={form.typed.name} />
        <input type="hidden" name="is_change" value="yes" />
      </>
    )
  }
  const options = servers.map((server) => [server, server] as const)
  return (
    <>
      <Field
        as="select"
        form={form}
        name="server"
        id="service-server"
        label="Server"
        options={options}
      />
      <ServiceText
        name="name"
        label="Name"
        form={form}
        hint="Used in grants, as in http:name:read."
        required
      />
    </>
  )
}

interface ServiceTextProps extends PartProps {
  as?: 'input' | 'textarea'
  name: ServiceField
  label: string
  hint?: string
  required?: boolean
}

const ServiceText: FC<ServiceTextProps> = ({ as = 'input', ...props }) => {
  const common = { ...props, id: `service-${props.name}`, autocomplete: 'off', spellcheck: false }
  return as === 'input' ? <Field {...common} /> : <Field as="textarea" {...common} rows={2} />
}

const formats = { json: 'JSON (a web page is an error)', any: 'Any' }

const Options: FC<PartProps> = ({ form }) => (
  <>
    <Field
      as="select"
      form={form}
      name="format"
      id="service-format"
      label="Response format"
      options={formats}
    />
    <Checkbox form={form} name="allow_http" label="Allow plain http" />
    <Checkbox form={form} name="allow_private" label="Allow private addresses" />
  </>
)

interface ServiceTableProps {
  services: ServiceSummary[]
}

/** The external services of tools: added by an admin, or built into a server. */
const ServiceTable: FC<ServiceTableProps> = ({ services }) =>
  services.length === 0 ? (
    <div class="empty">
      <p>
        <strong>No services yet.</strong>
        Add a service below, then allow its grants for agents.
      </p>
    </div>
  ) : (
    <table class="tbl fold">
      <TableHead columns={['Service', 'Base URL', 'Headers', 'Credential', { hidden: 'Change' }]} />
      <tbody>
        {services.map((line) => (
          <ServiceRow line={line} />
        ))}
      </tbody>
    </table>
  )

const ServiceRow: FC<{ line: ServiceSummary }> = ({ line }) => (
  <tr id={`service-${line.server}-${line.name}`} data-row>
    <th scope="row">
      {line.server} / <b>{line.name}</b>
      <div class="meta">
        {line.updated_by === null ? 'built in' : `added by ${line.updated_by}`}
      </div>
    </th>
    <td class="whole">
      <code>{line.base_url}</code>
      <ServiceOptions line={line} />
    </td>
    <td class="whole" data-l="Headers">
      <span>
        {Object.entries(line.headers).map(([name, value]) => (
          <div>
            <code>
              {name}: {value}
            </code>
          </div>
        ))}
        {Object.keys(line.headers).length === 0 && <span class="meta">none</span>}
      </span>
    </td>
    <td class="whole" data-l="Credential">
      {line.credential ?? <span class="meta">the service’s only one</span>}
    </td>
    <td class="whole">
      <TextLink href={changePath(line)}>
        Change<span class="vh"> {line.name}</span>
      </TextLink>
      {line.is_built_in || (
        <details class="danger">
          <summary>
            Delete<span class="vh"> {line.name}</span>
          </summary>
          <form class="up2" method="post" action="/credentials/services/delete">
            <input type="hidden" name="server" value={line.server} />
            <input type="hidden" name="name" value={line.name} />
            <Submit>
              Delete {line.server} / {line.name}
            </Submit>
          </form>
        </details>
      )}
    </td>
  </tr>
)

/** The options of a service that extend its access beyond https to one host. */
const ServiceOptions: FC<{ line: ServiceSummary }> = ({ line }) => {
  const further = furtherHosts(line)
  const words = [
    ...(further.length > 0 ? [`also ${further.join(', ')}`] : []),
    ...(line.allow_http ? ['plain http'] : []),
    ...(line.allow_private ? ['private addresses'] : []),
    ...(line.format === 'any' ? ['any format'] : []),
  ]
  return words.length === 0 ? null : <div class="meta">{words.join(', ')}</div>
}
