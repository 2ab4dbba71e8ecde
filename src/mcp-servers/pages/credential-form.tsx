import type { FC } from 'hono/jsx'
import { outside } from '../../config'

/** What was typed, but for the value, which has to be typed again. */
export type TypedCredential = Record<(typeof credentialFields)[number], string>

export const credentialFields = ['name', 'server', 'service', 'agent', 'community'] as const

interface AddCredentialProps {
  servers: readonly string[]
  typed: TypedCredential | null
}

export const AddCredential: FC<AddCredentialProps> = ({ servers, typed }) => (
  <details class="up4" {...(typed ? { open: true } : {})}>
    <summary>Set a credential</summary>
    <form class="form wide up3" method="post" action="/credentials">
      <fieldset>
        <Text
          name="name"
          label="Name"
          typed={typed}
          hint="Small letters, digits, dashes."
          required
        />
        <div>
          <label for="credential-server">Server</label>
          <select id="credential-server" name="server">
            {servers.map((server) => (
              <option value={server} selected={(typed?.server ?? 'http') === server}>
                {server}
              </option>
            ))}
          </select>
        </div>
        <Text
          name="service"
          label="Service"
          typed={typed}
          hint="Its name below: github, aws, or what you declared."
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
            The secret itself, or env:ROOKERY_SECRET_NAME for a secret of the Worker.
          </p>
        </div>
        <Text name="agent" label="Only for the agent" typed={typed} hint="Empty: for all." />
        <Text
          name="community"
          label="Only in the community"
          typed={typed}
          hint="Empty: everywhere."
        />
      </fieldset>
      <div class="acts">
        <button type="submit" class="btn go">
          Set it
        </button>
      </div>
    </form>
  </details>
)

interface TextProps {
  name: keyof TypedCredential
  label: string
  typed: TypedCredential | null
  hint: string
  required?: boolean
}

const Text: FC<TextProps> = ({ name, label, typed, hint, required = false }) => (
  <div>
    <label for={`credential-${name}`}>{label}</label>
    <input
      id={`credential-${name}`}
      name={name}
      value={typed?.[name] ?? ''}
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
