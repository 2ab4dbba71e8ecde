import type { FC } from 'hono/jsx'
import type { ProviderView } from '../../hub/models/models-view'
import { outside } from '../../shared/config'
import { FormKey } from '../frame/form-key'
import { RelativeTime } from '../parts/relative-time'
import { type ProviderBlockProps, settingsLabels } from './provider-props'

/** The form that makes one short call. */
export const TestForm: FC<{ state: ProviderView; isOpen: boolean }> = ({ state, isOpen }) => {
  const id = `${state.provider}-test-model`
  return (
    <details {...(isOpen ? { open: true } : {})}>
      <summary>
        Test<span class="vh"> {state.provider}</span>
      </summary>
      <form class="form up2" method="post" action={`/models/test#${state.provider}`}>
        <FormKey />
        <input type="hidden" name="provider" value={state.provider} />
        <div>
          <label for={id}>Model</label>
          <input
            id={id}
            name="model"
            value={state.defaultModel ?? ''}
            list={`${state.provider}-models`}
            maxlength={190}
            autocomplete="off"
            spellcheck={false}
            aria-describedby={`${id}-note`}
            required
          />
          <p class="meta" id={`${id}-note`}>
            Makes one short call. The budgets of the hub and your own pay for it.
          </p>
        </div>
        <div class="acts">
          <button type="submit" class="btn">
            Test model
          </button>
        </div>
      </form>
    </details>
  )
}

/** The form of the key. It goes to mcp-servers, so that no key passes through a page. */
export const KeyForm: FC<ProviderBlockProps> = ({ state, stored }) => {
  const id = `${state.provider}-key`
  const verb = stored?.hasKey ? 'Replace key' : 'Set key'
  return (
    <details>
      <summary>
        {verb}
        <span class="vh"> of {state.provider}</span>
      </summary>
      <form class="form up2" method="post" action="/models/key">
        <input type="hidden" name="provider" value={state.provider} />
        <div>
          <label for={id}>Key</label>
          <input
            id={id}
            name="value"
            type="password"
            maxlength={outside.credentialCharsMax}
            autocomplete="off"
            spellcheck={false}
            aria-describedby={`${id}-note`}
            required
          />
          <p class="meta" id={`${id}-note`}>
            The secret, or env:ROOKERY_SECRET_NAME for a secret of the Worker.
            {state.baseUrl !== null && ` It is sent to ${new URL(state.baseUrl).host} only.`}
          </p>
        </div>
        <div class="acts">
          <button type="submit" class="btn">
            Save key
          </button>
        </div>
      </form>
    </details>
  )
}

/** The form of address and default model. */
export const SettingsForm: FC<ProviderBlockProps> = ({ state, stored, typed }) => {
  const { provider } = state
  const isRejected = Object.keys(typed).length > 0
  const baseUrl = typed.base_url ?? stored?.baseUrl ?? ''
  const isPrivate = isRejected ? typed.allow_private === 'on' : (stored?.allowPrivate ?? false)
  return (
    <details {...(isRejected ? { open: true } : {})}>
      <summary>
        {state.source === 'environment' ? 'Default model' : 'Base URL, default model'}
        <span class="vh"> of {provider}</span>
      </summary>
      <form class="form up2" method="post" action="/models">
        <input type="hidden" name="provider" value={provider} />
        {state.source !== 'environment' && (
          <>
            <input type="hidden" name="has_address" value="yes" />
            <div>
              <label for={`${provider}-url`}>{settingsLabels.base_url}</label>
              <input
                id={`${provider}-url`}
                name="base_url"
                value={baseUrl}
                maxlength={2_000}
                autocomplete="off"
                spellcheck={false}
                aria-describedby={`${provider}-url-note`}
              />
              <p class="meta" id={`${provider}-url-note`}>
                {provider === 'openai-compatible'
                  ? 'Such as http://localhost:11434/v1. For a server on this machine or network, start the hub with ROOKERY_ALLOW_PRIVATE_SERVICES=true.'
                  : 'Leave empty for the built-in one. For another host, set the key again.'}
              </p>
            </div>
            <label class="check">
              <input type="checkbox" name="allow_private" checked={isPrivate} />
              {settingsLabels.allow_private}
            </label>
          </>
        )}
        <div>
          <label for={`${provider}-default`}>{settingsLabels.default_model}</label>
          <input
            id={`${provider}-default`}
            name="default_model"
            value={typed.default_model ?? stored?.defaultModel ?? ''}
            list={`${provider}-models`}
            maxlength={200}
            autocomplete="off"
            spellcheck={false}
            aria-describedby={`${provider}-default-note`}
          />
          <p class="meta" id={`${provider}-default-note`}>
            For agents that name no model. Leave empty for{' '}
            {provider === 'openai-compatible' ? 'none' : 'the one that comes with Rookery'}.
          </p>
        </div>
        <div class="acts">
          <button type="submit" class="btn">
            Save
          </button>
        </div>
      </form>
    </details>
  )
}

/** The models that the provider listed, and the form that asks for them. */
export const ListForm: FC<ProviderBlockProps> = ({ now, state, stored }) => {
  const listed = stored?.listed ?? []
  return (
    <details>
      <summary>
        Models{listed.length > 0 && ` (${listed.length})`}
        <span class="vh"> of {state.provider}</span>
      </summary>
      {listed.length > 0 && (
        <ul class="rules up2">
          {listed.map((name) => (
            <li>
              <code>{name}</code>
            </li>
          ))}
        </ul>
      )}
      <datalist id={`${state.provider}-models`}>
        {listed.map((name) => (
          <option value={name} />
        ))}
      </datalist>
      <form class="up2" method="post" action="/models/list">
        <input type="hidden" name="provider" value={state.provider} />
        <button type="submit" class="btn">
          List models<span class="vh"> of {state.provider}</span>
        </button>
        {stored?.listedAt != null && (
          <span class="meta">
            {' '}
            Listed <RelativeTime at={stored.listedAt} now={now} />
          </span>
        )}
      </form>
    </details>
  )
}

export const DeleteForm: FC<{ state: ProviderView }> = ({ state: { provider } }) => (
  <details class="danger">
    <summary>
      Delete<span class="vh"> {provider}</span>
    </summary>
    <form class="up2" method="post" action="/models/delete">
      <input type="hidden" name="provider" value={provider} />
      <p class="meta">
        Deletes the key, the base URL, the default model and the prices set here. Agents stay.
      </p>
      <button type="submit" class="btn up2">
        Delete {provider}
      </button>
    </form>
  </details>
)
