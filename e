program_source:13:17: error: function 'get_color_test' is declared, but nothing defines it
    image.write(get_color_test(float4(uv, 0.0, 1.0)), coordinates);
                ^
