// The rules that know types, for the page and its tests.
import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["*.js", "*.mjs"] },
  tseslint.configs.recommendedTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: { eqeqeq: "error" },
  },
);
